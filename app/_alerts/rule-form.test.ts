import { expect, it } from "vitest";
import { ALERT_WORDS } from "#protocol/alerts/alert-words.ts";
import { ruleDraft, type AlertKind } from "#protocol/alerts/alerts.ts";
import { emptyRule, formOfRule, readRule, usualValues } from "./rule-form.ts";

const NOT_MUTED = { mutedUntil: null, muteReason: "", mutedBy: "", toldAt: null };
const kinds = Object.keys(ALERT_WORDS) as AlertKind[];
const typed = (kind: AlertKind) => ({ ...emptyRule("UTC"), name: "r", kind, values: usualValues(kind) });

it.each(kinds)("a rule of the kind %s begins with the hub's own defaults, and comes back as it was", (kind) => {
  const read = readRule(typed(kind), true);
  if (!read.ok) throw new Error(JSON.stringify(read.errors));
  expect(ruleDraft.parse(read.rule)).toEqual(ruleDraft.parse({ name: "r", condition: { kind } }));
  const view = { id: "rule-0001", version: 1, rule: read.rule, firing: 0, ...NOT_MUTED, updatedAt: 0 };
  expect(readRule(formOfRule(view, "UTC"), true)).toEqual(read);
});

it("reads patterns, labels and quiet hours", () => {
  const form = {
    ...typed("silent"),
    nodes: "gpu-*",
    labels: "region=eu, note=a=b",
    quietFrom: "22:00",
    quietTo: "07:00",
  };
  const read = readRule(form, false);
  expect(read.ok && read.rule).toMatchObject({
    scope: { nodes: "gpu-*", runs: null, labels: { region: "eu", note: "a=b" } },
    quiet: { from: "22:00", to: "07:00", timeZone: "UTC" },
    isEnabled: false,
  });
});

it("says what is wrong by field", () => {
  const form = { ...typed("silent"), name: " ", values: { longerThanMs: "soon" }, labels: "eu", quietFrom: "22:00" };
  const read = readRule(form, true);
  expect(Object.keys(read.ok ? {} : read.errors).toSorted()).toEqual([
    "rule.condition.longerThanMs",
    "rule.name",
    "rule.quiet",
    "rule.scope.labels",
  ]);
});
