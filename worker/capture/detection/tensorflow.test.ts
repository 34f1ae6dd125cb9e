import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findBeside } from "./beside.ts";
import { lookAt } from "./look.ts";
import { readReadiness } from "./readiness.ts";
import { findCandidates } from "./walk-watched.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-tensorflow-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(...names: string[]): Promise<void> {
  for (const name of names) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), name);
  }
}

async function verdicts(): Promise<string[]> {
  const said: string[] = [];
  for (const candidate of await findCandidates({ folder })) {
    const look = await lookAt(candidate);
    const readiness = look === null ? null : await readReadiness(candidate, look);
    said.push(`${candidate.step} ${readiness?.says === "unfinished" ? readiness.why : readiness?.says}`);
  }
  return said;
}

test("index and tensors of TensorFlow are one checkpoint, that lacks what their names announce", async () => {
  await write("ckpt-10.index", "ckpt-10.data-00000-of-00002", "ckpt-10.data-00001-of-00002");
  await write("ckpt-20.data-00000-of-00002", "ckpt-20.data-00001-of-00002");
  await write("old/model.ckpt-30.index", "old/model.ckpt-30.meta", "old/model.ckpt-30.data-00000-of-00002");
  expect(await verdicts()).toEqual([
    "10 unsaid",
    "20 ckpt-20.index is missing",
    "30 model.ckpt-30.data-00001-of-00002 is missing",
  ]);
  expect((await findCandidates({ folder })).at(-1)?.names).toContain("model.ckpt-30.meta");
});

test("a checkpoint of TensorFlow is kept with a pointer that names it, though the file names a later one", async () => {
  await write("ckpt-10.index", "ckpt-10.data-00000-of-00001", "ckpt-20.index", "ckpt-20.data-00000-of-00001");
  const all = ["ckpt-10", "ckpt-20"].map((name) => `all_model_checkpoint_paths: "${name}"\n`).join("");
  await writeFile(join(folder, "checkpoint"), `model_checkpoint_path: "ckpt-20"\n${all}`);
  const [older] = await findCandidates({ folder });
  if (older === undefined) throw new Error("it was not found");
  const { files } = await findBeside(folder, older, join(folder, "..", "scratch"));
  expect(await readFile(files[0]?.path ?? "", "utf8")).toBe(
    'model_checkpoint_path: "ckpt-10"\nall_model_checkpoint_paths: "ckpt-10"\n',
  );
});

test("weights in place of TensorFlow are a state, the variables of a SavedModel are none", async () => {
  await write("cp.ckpt.index", "cp.ckpt.data-00000-of-00001");
  await write("export/saved_model.pb", "export/variables/variables.index");
  await write("export/variables/variables.data-00000-of-00001");
  const found = await findCandidates({ folder });
  expect(found.map(({ name, stepFrom }) => [name, stepFrom])).toEqual([["cp.ckpt.data-00000-of-00001", "time"]]);
});
