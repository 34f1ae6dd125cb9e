import { expect, test } from "vitest";
import type { ObjectEntry } from "./entry.ts";
import { objectForm } from "./entry-forms.ts";
import { onceSorted } from "./entries.ts";
import { sortRows } from "./sort-rows.ts";
import { Spool } from "./spool.ts";
import { createScratchFile } from "./scratch-file.ts";

test("a sorted list has a name that came again at any distance once, as it was last, and says which", () => {
  const scratch = createScratchFile(["/proc/none"]);
  const entry = (relative: string, sizeBytes: number): ObjectEntry => ({
    at: "store",
    relative,
    key: `p/${relative}`,
    sizeBytes,
    etag: null,
    modifiedAtMs: null,
  });
  const listed = new Spool(objectForm, scratch);
  for (const one of [entry("a", 1), entry("b", 1), entry("c", 1), entry("a", 2), entry("c", 3)]) listed.add(one);
  const twins: string[] = [];
  const rows = onceSorted(sortRows(listed, { form: objectForm, scratch }), { onTwin: ({ key }) => twins.push(key) });
  expect([...rows].map(({ relative, sizeBytes }) => [relative, sizeBytes])).toEqual([
    ["a", 2],
    ["b", 1],
    ["c", 3],
  ]);
  expect(twins).toEqual(["p/a", "p/c"]);
});
