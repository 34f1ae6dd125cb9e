import { expect, test } from "vitest";
import { type Row, withRow } from "./write-frameworks-page.ts";

const row = (name: string, losses: string): Row => ({ name, at: "2026-11-28T06:00:00.000Z", problems: [], losses });

test("a run of one case keeps the rows of the others, in the order of the cases", () => {
  const known = [row("dcp", "equal"), row("trainer", "not compared"), row("a case that is gone", "equal")];
  expect(withRow(known, row("trainer", "equal"))).toEqual([row("trainer", "equal"), row("dcp", "equal")]);
});
