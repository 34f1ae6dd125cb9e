import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { alertCondition } from "#protocol/alerts/alerts.ts";
import { ROOT } from "./run-step.ts";

test("docs/alerts.md has one row for each kind of alert", () => {
  const page = readFileSync(join(ROOT, "docs/alerts.md"), "utf8");
  const [rules = ""] = page.split("\n## Channels");
  const rows = [...rules.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, kind]) => kind);
  const kinds = alertCondition.options.map(({ shape }) => shape.kind.value);
  expect(kinds.length).toBeGreaterThan(10);
  expect(new Set(rows)).toEqual(new Set(kinds));
  expect(rows).toHaveLength(kinds.length);
});
