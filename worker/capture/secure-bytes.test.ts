import { constants, copyFile, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { linkingOf, secureBytes, type Linking } from "./secure-bytes.ts";

let folder: string;
let from: string;
let at: string;
/** A disk that clones files needs neither link nor copy. */
let clones: boolean;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-secure-"));
  [from, at] = [join(folder, "weights.bin"), join(folder, "captured.bin")];
  await writeFile(from, "weights");
  const cloned = copyFile(from, join(folder, "clone"), constants.COPYFILE_FICLONE_FORCE);
  clones = await cloned.then(
    () => true,
    () => false,
  );
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const isShared = async () => (await stat(from)).ino === (await stat(at)).ino;

test.each<[Linking, boolean, boolean]>([
  ["rather than copied", true, true],
  ["rather than copied", false, true],
  ["rather than refused", true, false],
  ["rather than refused", false, true],
  ["never", true, false],
])("linked %s, with room for a copy %s: linked %s", async (linking, canCopy, isLinked) => {
  await secureBytes(from, at, { canCopy, linking });
  expect(await isShared()).toBe(isLinked && !clones);
  expect(await readFile(at, "utf8")).toBe("weights");
});

test("without room what may not be linked is refused, and so is what is gone", async () => {
  const refused = expect(secureBytes(from, at, { canCopy: false, linking: "never" }));
  await (clones ? refused.resolves.toBeUndefined() : refused.rejects.toMatchObject({ code: "NO_SPACE" }));
  await rm(from);
  const gone = secureBytes(from, join(folder, "other"), { canCopy: true, linking: "rather than copied" });
  await expect(gone).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
});

test("only what is renamed into place as a whole is linked by choice, and only what carries its step in need", () => {
  const files = ["model.safetensors", "optimizer.pt"];
  expect(linkingOf({ name: "1200", step: 1200 }, ["_CHECKPOINT_METADATA", "d/0"])).toBe("rather than copied");
  expect(linkingOf({ name: "checkpoint-1200", step: 1200 }, files)).toBe("rather than refused");
  expect(linkingOf({ name: "epoch=1-step=500.ckpt", step: 500 }, [""])).toBe("rather than refused");
  expect(linkingOf({ name: "latest", step: 500 }, files)).toBe("never");
  expect(linkingOf({ name: "slot-1", step: 500 }, files)).toBe("never");
});
