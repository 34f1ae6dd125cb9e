import { mkdir, mkdtemp, readdir, rm, stat, symlink } from "node:fs/promises";
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

/** Owner of folders that root creates for it; the tests with it need root. */
const nobody = { name: "nobody", uid: 65534, gid: 65534, groups: [65534], home: "/", shell: "", setpriv: "/setpriv" };
const isRoot = process.getuid?.() === 0;

const taken = (draft: Partial<Omit<JobDraft, "secrets">>): TakenJob => ({
  id,
  attempt: 1,
  epoch: 1,
  run: "llama",
  name: "llama",
  spec: jobSpec.parse({ command: "train", ...draft }),
  secrets: {},
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
  const two = { ...taken({}), spec: { ...taken({}).spec, watch: ["a", "b"] } };
  expect(() => readPlace(two, folder)).toThrow(/cannot read it: watch: a job watches one folder/);
  const newer = { ...taken({}), spec: { ...taken({}).spec, command: 7 as never } };
  expect(() => readPlace(newer, folder)).toThrow(/cannot read it: command/);
});

it.each([
  ["an absolute working folder", { workingFolder: "OUTSIDE/train" }],
  ["a working folder above", { workingFolder: "../other/train" }],
  ["an absolute watched folder", { watch: ["OUTSIDE/ckpt"] }],
  ["a watched folder above", { watch: ["../../ckpt"] }],
])("%s outside of the own one is not created, but may exist", async (_, draft) => {
  const jobs = join(folder, "jobs");
  await mkdir(jobs);
  const named = JSON.parse(JSON.stringify(draft).replaceAll("OUTSIDE", folder)) as Partial<JobDraft>;
  const place = readPlace(taken(named), jobs);
  await expect(makePlace(place, null)).rejects.toMatchObject({
    code: "BAD_INPUT",
    message: expect.stringContaining("does not exist, and a worker creates folders only below the job's own"),
  });
  const left = await readdir(folder, { recursive: true });
  expect(left.filter((path) => path !== "jobs" && path !== join("jobs", id))).toEqual([]);
  const outside = [place.cwd, ...place.watches.map((watch) => watch.folder)].filter((path) => !path.includes(id));
  for (const path of outside) await mkdir(path, { recursive: true });
  await makePlace(place, isRoot ? nobody : null);
  for (const path of outside) expect((await stat(path)).uid).toBe(process.getuid?.());
});

it("a link in the own folder leads to no new folder outside", async () => {
  await mkdir(join(folder, id));
  await mkdir(join(folder, "other"));
  await symlink(join(folder, "other"), join(folder, id, "src"));
  const place = readPlace(taken({ workingFolder: "src/train" }), folder);
  await expect(makePlace(place, null)).rejects.toMatchObject({ code: "BAD_INPUT" });
  expect(await readdir(join(folder, "other"))).toEqual([]);
});

it.runIf(isRoot)("what is created for another user belongs to it, and no link is followed", async () => {
  await makePlace(readPlace(taken({ workingFolder: "src/train", watch: ["ckpt"] }), folder), nobody);
  for (const path of [".", "src", "src/train", "src/train/ckpt"])
    expect((await stat(join(folder, id, path))).uid).toBe(nobody.uid);
  expect((await stat(folder)).uid).toBe(0);
  await mkdir(join(folder, "other"));
  await symlink(join(folder, "other"), join(folder, id, "link"));
  for (const workingFolder of ["link", "link/train"])
    await expect(makePlace(readPlace(taken({ workingFolder }), folder), nobody)).rejects.toMatchObject({
      code: "BAD_INPUT",
      message: expect.stringContaining("is reached through a symbolic link"),
    });
  expect((await stat(join(folder, "other"))).uid).toBe(0);
  expect(await readdir(join(folder, "other"))).toEqual([]);
});
