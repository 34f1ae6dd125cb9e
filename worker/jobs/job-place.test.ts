import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { jobSpec, type JobDraft } from "#protocol/jobs/job-spec.ts";
import type { TakenJob } from "#protocol/jobs/node-jobs.ts";
import { makePlace, readPlace } from "./job-place.ts";

const id = "6f9619ff-8b86-4d01-b42d-00c04fc964ff";
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-place-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const taken = (draft: Partial<JobDraft>): TakenJob => ({
  id,
  attempt: 1,
  epoch: 1,
  run: "llama",
  name: "llama",
  spec: jobSpec.parse({ command: "train", ...draft }),
  claim: { epoch: 1, newest: null, parent: null },
});

it("a job without a folder gets one of its own, with its watched folder in it", async () => {
  const place = readPlace(taken({ watch: ["ckpt"] }), folder);
  expect(place).toMatchObject({ cwd: join(folder, id), own: join(folder, id) });
  expect(place.watches.map((watch) => [watch.folder, watch.run])).toEqual([[join(folder, id, "ckpt"), "llama"]]);
  await makePlace(place, null);
  expect((await stat(join(folder, id, "ckpt"))).isDirectory()).toBe(true);
});

it("a relative folder lies in its own, an absolute one or one outside is not the worker's to remove", () => {
  expect(readPlace(taken({ workingFolder: "src" }), folder)).toMatchObject({
    cwd: join(folder, id, "src"),
    own: join(folder, id),
  });
  expect(readPlace(taken({ workingFolder: "/opt/train", watch: ["ckpt"] }), folder)).toMatchObject({
    cwd: "/opt/train",
    own: null,
    watches: [{ folder: "/opt/train/ckpt" }],
  });
  expect(readPlace(taken({ workingFolder: "../shared" }), folder)).toMatchObject({
    cwd: join(folder, "shared"),
    own: null,
  });
});

it("a job that this worker cannot run is refused with a sentence", () => {
  expect(() => readPlace(taken({ watch: ["a", "b"] }), folder)).toThrow(/watches several folders/);
  const newer = { ...taken({}), spec: { ...taken({}).spec, command: 7 as never } };
  expect(() => readPlace(newer, folder)).toThrow(/cannot read it: command/);
});
