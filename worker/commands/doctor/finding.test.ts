import { expect, test } from "vitest";
import { saidLines } from "#protocol/base/visible-text.ts";
import { doubtful, showFinding } from "./finding.ts";

test("a name with a line break makes no finding of its own", () => {
  let shown = "";
  const finding = doubtful("watch", { says: "leaves a\nok       watch", fix: "Watch a\nok       watch instead." });
  showFinding({ result: (text) => void (shown = saidLines(text)) }, finding);
  expect(shown.split("\n")).toHaveLength(2);
  expect(shown).toContain("leaves a\\u000aok");
});
