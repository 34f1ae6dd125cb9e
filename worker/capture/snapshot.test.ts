import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { DEFAULT_PACKING } from "#protocol/checkpoint/packing.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import type { Candidate } from "./detection/find.ts";
import { lookAt, type Look } from "./detection/look.ts";
import { takeSnapshot, type SnapshotJob } from "./snapshot.ts";

let folder: string;
let candidate: Candidate;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-snapshot-"));
  candidate = { path: join(folder, "checkpoint-500"), name: "checkpoint-500", step: 500, kind: "folder" };
  await mkdir(join(candidate.path, "sub"), { recursive: true });
  await writeFile(join(candidate.path, "model.safetensors"), "weights");
  await writeFile(join(candidate.path, "sub", "rng.pth"), "random");
  const log = [
    { loss: 2.5, epoch: 1 },
    { loss: 1.25, note: "text" },
  ];
  await writeFile(join(candidate.path, "trainer_state.json"), JSON.stringify({ log_history: log }));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function look(): Promise<Look> {
  const seen = await lookAt(candidate);
  if (seen === null) throw new Error("the checkpoint is gone");
  return seen;
}

const job = (seen: Look): SnapshotJob => ({
  candidate,
  look: seen,
  run: runName.parse("llama"),
  epoch: 2,
  captures: join(folder, "captures"),
  traits: traitsOf("aws"),
  partBytes: null,
  packing: DEFAULT_PACKING,
  startedBy: "queue",
  wallNow: Date.now,
});

test("the capture has every byte although the program removes its folder at once", async () => {
  const capture = await takeSnapshot(job(await look()));
  await rm(candidate.path, { recursive: true });
  const contents = await Promise.all(capture.files.map(async ({ path, at }) => [path, await readFile(at, "utf8")]));
  expect(contents.slice(0, 2)).toEqual([
    ["model.safetensors", "weights"],
    ["sub/rng.pth", "random"],
  ]);
  expect(capture.files[0]?.sums).toEqual([crc32Hex(Buffer.from("weights"))]);
  expect(capture).toMatchObject({
    step: 500,
    framework: "transformers",
    metrics: { loss: 1.25 },
    state: "waiting",
  });
});

test("the place says where the step comes from, also to workers that know two origins only", async () => {
  const root = dirname(candidate.path);
  const placed = async (about: Partial<Candidate>) =>
    (await takeSnapshot({ ...job(await look()), root, candidate: { ...candidate, ...about } })).place;
  expect(await placed({})).toMatchObject({ stepSource: "name" });
  expect(await placed({})).not.toHaveProperty("stepFrom");
  expect(await placed({ stepFrom: "said" })).toMatchObject({ stepSource: "said" });
  expect(await placed({ stepFrom: "said" })).not.toHaveProperty("stepFrom");
  expect(await placed({ stepFrom: "time" })).toMatchObject({ stepSource: "time", stepFrom: "time" });
});

test("a program that writes its files again in place does not change what was captured of them", async () => {
  // Too large for a pack, which is read and written anyway.
  const weights = randomBytes(9_000_000);
  await writeFile(join(candidate.path, "model.safetensors"), weights);
  const capture = await takeSnapshot(job(await look()));
  await writeFile(join(candidate.path, "model.safetensors"), randomBytes(9_000_000));
  await writeFile(join(candidate.path, "sub", "rng.pth"), "RANDOM");
  const placeOf = (name: string) => capture.files.find(({ path }) => path === name)?.at ?? "";
  expect((await readFile(placeOf("model.safetensors"))).equals(weights)).toBe(true);
  expect(await readFile(placeOf("sub/rng.pth"), "utf8")).toBe("random");
});

test("a checkpoint that changed since it was looked at is not captured, and nothing is left of it", async () => {
  const seen = await look();
  await writeFile(join(candidate.path, "sub", "rng.pth"), "written again");
  await expect(takeSnapshot(job(seen))).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
  const second = await look();
  await writeFile(join(candidate.path, "late.bin"), "one more file");
  await expect(takeSnapshot(job(second))).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
  expect(await lookAt({ path: join(folder, "captures"), kind: "folder" })).toMatchObject({ files: [] });
});

test("a file that the program took away is no lasting refusal, and for a link that leads nowhere the rest is kept as doubtful", async () => {
  const seen = await look();
  await rm(join(candidate.path, "sub", "rng.pth"));
  await expect(takeSnapshot(job(seen))).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
  await symlink(join(folder, "nowhere"), join(candidate.path, "broken.bin"));
  const capture = await takeSnapshot(job(await look()));
  expect(capture.files.map(({ path }) => String(path))).not.toContain("broken.bin");
  expect(capture.doubt).toBe("broken.bin is left out: it is a link that leads nowhere");
});

test("names that are ordinary on Linux are captured, those that differ in case alone too", async () => {
  const odd = ["MODEL.safetensors", "a\\b", "aux.c", "trailing ", "a:b"];
  for (const name of odd) await writeFile(join(candidate.path, name), name);
  const capture = await takeSnapshot(job(await look()));
  expect(capture.files.map(({ path }) => String(path))).toEqual(expect.arrayContaining(odd));
});

test("of a name with a control character the rest is kept, and it is told by name, as an escape", async () => {
  const whole = await takeSnapshot(job(await look()));
  await writeFile(join(candidate.path, "a\u001bb"), "other");
  await mkdir(join(candidate.path, "c\u0001d"));
  await writeFile(join(candidate.path, "c\u0001d", "inside"), "other");
  const capture = await takeSnapshot(job(await look()));
  expect(capture.files.map(({ path }) => path)).toEqual(whole.files.map(({ path }) => path));
  expect(capture.doubt).toBe("a\\u001bb and 1 more are left out: it contains control characters");
});

test("a link to a file is captured as its content; for a link to a folder the rest is kept as doubtful", async () => {
  await writeFile(join(folder, "elsewhere.bin"), "outside");
  await symlink(join(folder, "elsewhere.bin"), join(candidate.path, "linked.bin"));
  const capture = await takeSnapshot(job(await look()));
  const linked = capture.files.find(({ path }) => path === "linked.bin");
  expect(linked === undefined ? null : await readFile(linked.at, "utf8")).toBe("outside");
  await symlink(folder, join(candidate.path, "loop"));
  const doubtful = await takeSnapshot(job(await look()));
  expect(doubtful.files).toHaveLength(capture.files.length);
  expect(doubtful.doubt).toBe("loop is left out: it is a link to a folder");
});
