import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { jobSpec, type JobDraft } from "#protocol/jobs/job-spec.ts";
import { createFakeHub } from "../../testing/fake-hub.ts";
import { saveOutputs } from "./save-outputs.ts";

const id = "6f9619ff-8b86-4d01-b42d-00c04fc964ff";
let folder: string;
let own: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-outputs-"));
  own = join(folder, id);
  await mkdir(join(own, "out/deep"), { recursive: true });
  await writeFile(join(own, "out/a.json"), "{}");
  await writeFile(join(own, "out/deep/b.json"), "{}");
  await writeFile(join(folder, "of-the-machine"), "secret");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Saves at a hub that fails the test when it is asked, because nothing may be sent of refused outputs. */
function save(outputs: JobDraft["outputs"]) {
  const spec = jobSpec.parse({ command: "true", outputs });
  const job = { id, attempt: 1, epoch: 1, run: "llama", name: "llama", spec, secrets: {} } as never;
  const place = { name: "llama", spec, cwd: own, own, watches: [] };
  const agent = { hub: createFakeHub({}), state: folder } as never;
  return saveOutputs({ agent, job, place, signal: new AbortController().signal, onSave: () => undefined });
}

it.each<[string, JobDraft["outputs"], string, () => Promise<unknown>]>([
  ["a folder that is not there", [{ prefix: "r", folder: "none" }], "left no none", () => Promise.resolve()],
  ["an empty folder", [{ prefix: "r", folder: "empty" }], "empty folder", () => mkdir(join(own, "empty"))],
  [
    "a missing file beside one that is there",
    [{ prefix: "r", files: ["out/a.json", "no"] }],
    "left no no",
    () => Promise.resolve(),
  ],
  ["a file as a folder", [{ prefix: "r", folder: "out/a.json" }], "is a file", () => Promise.resolve()],
  [
    "a link to a file",
    [{ prefix: "r", folder: "out" }],
    "it is a link",
    () => symlink(join(folder, "of-the-machine"), join(own, "out/deep/key")),
  ],
  [
    "a file that is a link",
    [{ prefix: "r", files: ["key"] }],
    "it is a link",
    () => symlink(join(folder, "of-the-machine"), join(own, "key")),
  ],
  ["a folder that is a link", [{ prefix: "r", folder: "up" }], "it is a link", () => symlink(folder, join(own, "up"))],
  [
    "a file below a link",
    [{ prefix: "r", files: ["up/of-the-machine"] }],
    "it is a link",
    () => symlink(folder, join(own, "up")),
  ],
])("refuses %s with a sentence, and sends nothing", async (...[, outputs, words, prepare]) => {
  await prepare();
  const error = await save(outputs).then(
    () => null,
    (thrown: unknown) => thrown as { context: { detail: string } },
  );
  expect(error?.context.detail).toContain(words);
});
