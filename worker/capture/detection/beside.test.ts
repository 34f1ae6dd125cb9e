import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findBeside } from "./beside.ts";
import type { Candidate } from "./find.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-beside-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(path: string, text = "x"): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

const folderCandidate = (name: string, step: number): Candidate => ({
  path: join(folder, name),
  name: name.slice(name.lastIndexOf("/") + 1),
  step,
  kind: "folder",
});

/** The paths that are kept, with the texts of files and the ends of links. */
async function kept(candidate: Candidate): Promise<Record<string, string>> {
  const { entries, files } = await findBeside(folder, candidate, join(folder, "..", "scratch"));
  const texts: Record<string, string> = {};
  for (const entry of entries) {
    const file = "file" in entry ? files.find(({ relative }) => relative === entry.file) : undefined;
    texts[entry.path] = "link" in entry ? `-> ${entry.link}` : await readFile(file?.path ?? "", "utf8");
  }
  return texts;
}

test("pointers name the checkpoint that is captured, also when they are ahead of it", async () => {
  await write("global_step20/model.pt");
  await write("latest", "global_step40");
  await write("latest_checkpointed_iteration.txt", "40");
  await write("checkpoint", "model_checkpoint_path: x");
  expect(await kept(folderCandidate("global_step20", 20))).toEqual({
    latest: "global_step20",
    "latest_checkpointed_iteration.txt": "20",
    checkpoint: "model_checkpoint_path: x",
  });
});

test("a pointer that names the checkpoint already keeps its own time and bytes", async () => {
  await write("latest", "global_step20\n");
  const { files } = await findBeside(folder, folderCandidate("global_step20", 20), join(folder, "..", "scratch"));
  expect(files.map(({ path }) => path)).toEqual([join(folder, "latest")]);
});

test("what lies beside a checkpoint has modes of its own, also a pointer that is written anew", async () => {
  await write("global_step20/model.pt");
  await write("latest", "global_step40");
  await write("config.yaml");
  await chmod(join(folder, "latest"), 0o664);
  await chmod(join(folder, "config.yaml"), 0o600);
  const { files } = await findBeside(folder, folderCandidate("global_step20", 20), join(folder, "..", "scratch"));
  const modes = Object.fromEntries(files.map(({ relative, mode }) => [relative, mode]));
  expect(modes).toEqual({ ".tidemark-beside/latest": 0o664, ".tidemark-beside/config.yaml": 0o600 });
});

test("settings of every folder up to the watched one are kept, with Hydra's; logs, weights and large files are not", async () => {
  await write("logs/version_0/checkpoints/epoch=1-step=2.ckpt");
  await write("logs/version_0/hparams.yaml", "lr: 1");
  await write("logs/.hydra/config.yaml", "h");
  await write("tokenizer.json", "{}");
  await write("train_log.txt");
  await write("metrics.json");
  await write("model.pt");
  await write("large.json", "x".repeat(1024 * 1024 + 1));
  await write("other/config.yaml", "of another folder");
  const path = join(folder, "logs/version_0/checkpoints/epoch=1-step=2.ckpt");
  expect(await kept({ path, name: "epoch=1-step=2.ckpt", step: 2, kind: "file" })).toEqual({
    "logs/version_0/hparams.yaml": "lr: 1",
    "logs/.hydra/config.yaml": "h",
    "tokenizer.json": "{}",
  });
});

test("links within the folder are kept as links, others are not", async () => {
  await write("checkpoint-10/model.pt");
  await symlink("checkpoint-10", join(folder, "checkpoint-best"));
  await symlink(tmpdir(), join(folder, "elsewhere"));
  await symlink("missing", join(folder, "dangling"));
  expect(await kept(folderCandidate("checkpoint-10", 10))).toEqual({ "checkpoint-best": "-> checkpoint-10" });
});

test("of very many files the pointers are kept first, and no more than sixteen", async () => {
  for (let index = 0; index < 30; index++) await write(`a${index}.yaml`);
  await write("latest", "step_1");
  const found = await kept(folderCandidate("step_1", 1));
  expect(Object.keys(found)).toHaveLength(16);
  expect(found["latest"]).toBe("step_1");
  const { entries, left } = await findBeside(folder, folderCandidate("step_1", 1), join(folder, "..", "scratch"));
  expect(left).toHaveLength(31 - entries.length);
  expect(left.map(({ path }) => path)).not.toContain("latest");
});
