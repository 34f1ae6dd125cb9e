import { expect, test, vi } from "vitest";
import { deletionsOf } from "./delete-extra.ts";
import type { Side } from "./listing/entries.ts";
import type { Entry } from "./listing/entry.ts";
import { entryForm } from "./listing/entry-forms.ts";
import { pairUp } from "./listing/pair-up.ts";
import { createScratchFile } from "./listing/scratch-file.ts";
import { Spool } from "./listing/spool.ts";

const scratch = createScratchFile(["/proc/none"]);
function sideOf(...names: string[]): Side {
  const rows = new Spool<Entry>(entryForm, scratch);
  for (const relative of names.toSorted())
    rows.add({ at: "store", relative, key: relative, sizeBytes: 1, etag: null, modifiedAtMs: null });
  return { taken: rows, all: rows, failures: [], leftOut: [], unknown: new Set(), empty: new Set() };
}

const removed = async (isFolding: boolean) => {
  const sides = {
    scratch,
    from: sideOf("readme", "Dir/a", "caf\u00e9"),
    to: sideOf("README", "dir/a", "cafe\u0301", "Extra"),
  };
  const context = {
    config: { isOn: (name: string) => name === "delete", number: () => null },
    terminal: { say: vi.fn() },
  };
  const found = await deletionsOf(context as never, {
    sides,
    paired: pairUp(sides.from, sides.to),
    foldsNames: async () => isFolding,
  });
  return [...found].map(({ relative }) => relative);
};

test("on a disk that takes names for one that differ in case or accents, what was just copied is not removed", async () => {
  expect(await removed(true)).toEqual(["Extra"]);
  expect(await removed(false)).toEqual(["Extra", "README", "cafe\u0301", "dir/a"]);
});
