import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { addProfile } from "../stage/provision.ts";
import { startStore, type RunningStore } from "../stage/start-store.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder } from "../stage/write-checkpoint.ts";
import { writeManyFiles } from "../stage/write-many-files.ts";

/** A run whose first home hides everything, and whose second asks for nothing: neither may ever hold a plain byte. */
const MIB = 1024 * 1024;
const LONG_MS = 400_000;
const run = runName.parse("sealed-twice");
let stage: Stage;
let far: RunningStore;
let second: string;

beforeAll(async () => {
  stage = await openStage();
  far = await startStore({ dataDir: join(stage.dir, "far"), control: "stage-control-token" });
  second = await addProfile(stage.client, { name: "far bucket", store: far });
  await stage.client.sealing.set.mutate({ id: stage.profileId, sealing: "names", understood: true });
});
afterAll(async () => {
  await stage.close();
  await far.stop();
}, LONG_MS);

const newestOf = async (name: string, step: number) => {
  const { checkpoints } = await stage.client.runs.get.query({ run: name });
  return checkpoints.find((one) => one.state === "complete" && one.step === step);
};

const inBoth = (name: string, step: number) =>
  waitUntil(`step ${step} of ${name} lies in both homes`, async () => {
    const found = await newestOf(name, step);
    const view = found === undefined ? undefined : await stage.client.checkpoints.get.query({ id: found.id });
    return view?.copies.length === 2 && view.copies.every(({ state }) => state === "complete") ? view : undefined;
  });

const holds = (store: "store" | "far", text: string): boolean =>
  readdirSync(join(stage.dir, store), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(text));

/** Some of what a checkpoint says of itself: names of its files, and words in them. */
const plainWords = (path: string): string[] => [
  "shards/",
  "0000/7.json",
  readFileSync(join(path, "shards/0000/7.json"), "utf8").slice(0, 40),
];

test(
  "a copy is the same encrypted bytes, by the node that saved them, and is restored when the first bucket is gone",
  async () => {
    await stage.startNode({ name: "gpu-1", run, flags: ["--part-size", "5MiB"] });
    const bytesOf = (number: number) => 500 + number;
    const files = {
      folder: stage.folderOf("gpu-1"),
      files: 100,
      bytesOf,
      content: "json",
      modelBytes: 12 * MIB,
    } as const;
    writeManyFiles({ ...files, step: 100 });
    await waitUntil("step 100 is complete", () => newestOf(run, 100));
    await stage.client.homes.set.mutate({ run, profileIds: [stage.profileId, second], copies: null });
    const path = writeManyFiles({ ...files, step: 200 });
    const view = await inBoth(run, 200);
    expect(view.sealed).toMatchObject({ isKeyHere: true });
    for (const word of plainWords(path)) {
      expect(holds("store", word)).toBe(false);
      expect(holds("far", word)).toBe(false);
    }
    await stage.startNode({ name: "gpu-2", run: runName.parse("elsewhere") });
    const node = await waitUntil("gpu-2 is online", async () =>
      (await stage.client.nodes.list.query()).find((one) => one.name === "gpu-2" && one.state === "online"),
    );
    const gone = view.copies.find(({ isFirst }) => isFirst)?.profileId === second ? far : stage.store;
    await gone.stop("SIGKILL");
    const targetPath = join(stage.dir, "restored", "step-200");
    const request = { requestId: crypto.randomUUID(), checkpointId: view.id, nodeId: node.id, targetPath };
    const { transferId } = await stage.client.restores.create.mutate(request);
    const ended = await waitUntil("the restore ends", async () => {
      const { restores } = await stage.client.checkpoints.get.query({ id: view.id });
      const row = restores.find(({ id }) => id === transferId);
      return row?.state === "done" || row?.state === "failed" ? row : undefined;
    });
    expect(ended).toMatchObject({ state: "done" });
    expect(hashFolder(targetPath)).toEqual(hashFolder(path));
    const again = await startStore({
      dataDir: join(stage.dir, gone === far ? "far" : "store"),
      control: "stage-control-token",
      port: gone.port,
    });
    if (gone === far) far = again;
    else stage.store = again;
  },
  LONG_MS,
);

test(
  "where each home has a key of its own, a copy keeps that of the home where it was saved",
  async () => {
    await stage.client.sealing.set.mutate({ id: second, sealing: "content", understood: true });
    const bytesOf = (number: number) => 900 + number;
    const path = writeManyFiles({
      folder: stage.folderOf("gpu-1"),
      step: 300,
      files: 40,
      bytesOf,
      content: "json",
      modelBytes: 6 * MIB,
    });
    await inBoth(run, 300);
    for (const word of plainWords(path)) expect(holds("far", word)).toBe(false);
    await stage.client.sealing.set.mutate({ id: second, sealing: "off" });
  },
  LONG_MS,
);

test(
  "an idle node, which has no key, copies what another one saved, with its names still hidden",
  async () => {
    const alone = runName.parse("sealed-and-left");
    const writer = await stage.startNode({ name: "gpu-3", run: alone, flags: ["--part-size", "5MiB"] });
    const bytesOf = (number: number) => 700 + number;
    const files = {
      folder: stage.folderOf("gpu-3"),
      files: 60,
      bytesOf,
      content: "json",
      modelBytes: 6 * MIB,
    } as const;
    const path = writeManyFiles({ ...files, step: 10 });
    await waitUntil("it is complete", () => newestOf(alone, 10));
    await writer.stop();
    const { rows: before } = await stage.client.audit.list.query({ action: "release key" });
    await stage.client.homes.set.mutate({ run: alone, profileIds: [stage.profileId, second], copies: null });
    const view = await inBoth(alone, 10);
    expect(view.files.map((one) => one.path)).toContain("shards/0000/7.json");
    for (const word of plainWords(path)) expect(holds("far", word)).toBe(false);
    const { rows: after } = await stage.client.audit.list.query({ action: "release key" });
    expect(after.length).toBe(before.length);
  },
  LONG_MS,
);
