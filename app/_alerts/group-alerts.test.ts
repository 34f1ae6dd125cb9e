import { expect, it } from "vitest";
import type { AlertRow } from "#protocol/alerts/alert-views.ts";
import { groupAlerts, tellingWords } from "./group-alerts.ts";

const row = (id: string, ruleId: string, changes: Partial<AlertRow> = {}): AlertRow => ({
  id,
  ruleId,
  ruleName: ruleId,
  kind: "silent",
  severity: "critical",
  nodeId: null,
  nodeName: id,
  run: null,
  text: "",
  path: "/",
  since: 0,
  firedAt: 0,
  resolvedAt: null,
  advice: null,
  acknowledgedAt: null,
  acknowledgedBy: null,
  toldAt: null,
  mutedUntil: null,
  ...changes,
});
const MINUTE_MS = 60_000;

it("alerts go together by rule, in the order of the first of each", () => {
  const groups = groupAlerts([row("a", "x"), row("b", "y"), row("c", "x")]);
  expect(groups.map(({ ruleId, rows }) => [ruleId, rows.map(({ id }) => id)])).toEqual([
    ["x", ["a", "c"]],
    ["y", ["b"]],
  ]);
});

it("a group says how many were told to whom, and what the others wait for", () => {
  const rows = [row("a", "x", { toldAt: 1 }), row("b", "x")];
  const words = (toldAt: number | null, mutedUntil: number | null = null) =>
    tellingWords({ rows, rule: { toldAt, mutedUntil }, told: ["on call"], now: MINUTE_MS });
  expect(words(1)).toBe("1 sent to on call, 1 waits for the next message, 5 min after the last");
  expect(words(null)).toBe("1 sent to on call, 1 waits for others, 15 s");
  expect(words(1, 2 * MINUTE_MS)).toBe("muted, nothing is sent");
  expect(tellingWords({ rows, rule: { toldAt: 1, mutedUntil: null }, told: [], now: 0 })).toBe("shown here only");
});
