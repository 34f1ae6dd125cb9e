import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manifest as manifestSchema, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import { runName } from "#protocol/base/names.ts";
import { createControlClient } from "#storage/s3/client.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { getObjectText } from "#storage/s3/objects.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { faultOf } from "./hub-client.ts";
import { keysInEnv } from "./keys-in-env.ts";
import { openStage, type Stage, type StageOptions } from "./open-stage.ts";
import { type Outcome, runOnce } from "./run-once.ts";
import type { RunningProcess } from "./start-process.ts";
import { type RunningStore, startStore } from "./start-store.ts";
import { startWorker, testedWorker, type WorkerOptions } from "./start-worker.ts";
import { waitUntil } from "./wait-until.ts";

/**
 * Stages the worker over each implementation of its port: a hub, and the bucket alone. Suites that describe what a node does run
 * their bodies over both with `describe.each(IMPLEMENTATIONS)`.
 */
export const IMPLEMENTATIONS = ["hub", "alone"] as const;
export type Implementation = (typeof IMPLEMENTATIONS)[number];

/** A complete checkpoint, as the hub lists it, or as it lies in the bucket. */
export interface StagedCheckpoint {
  step: number;
  doubt: string | null;
  /** `checkpoint`, or a role such as `final-model`. */
  role: string;
  isNewest: boolean;
  fileCount: number;
  place: Manifest["place"] | null;
}

type NodeOptions = Omit<WorkerOptions, "hubUrl" | "stateDir">;

/** A store, what a worker asks over it, and as many workers as a test needs, in a temporary folder. */
export interface Staged {
  implementation: Implementation;
  dir: string;
  store: RunningStore;
  folderOf(name: string): string;
  stateOf(name: string): string;
  /** Starts a worker. Its folders are `nodes/<name>/{state,checkpoints}` under `dir`. */
  startNode(options: NodeOptions): Promise<RunningProcess>;
  /** Runs a command to its end that finds the hub, or the bucket, by its settings, with the state folder of this node. */
  joining(name: string, args: readonly string[]): Promise<Outcome>;
  /** Asks the worker of this node to restore `RUN[@STEP]`. */
  restore(name: string, what: string, target: string): Promise<Outcome>;
  /** Lists complete checkpoints of a run: the highest epoch first, then the highest step. None for a run that nobody wrote. */
  completeOf(run: string): Promise<StagedCheckpoint[]>;
  /** Reads the manifests of a run from the bucket, in the same order. */
  manifestsOf(run: string): Promise<Manifest[]>;
  /** The hub and what belongs to it. @throws Error over the bucket alone */
  stage(): Stage;
  close(): Promise<void>;
}

export interface OverOptions {
  /** Encrypts contents and names of checkpoints. */
  isSealed?: true;
  hub?: StageOptions["hub"];
}

/** Opens a stage whose workers ask a hub, or the bucket alone. */
export const stageOver = (implementation: Implementation, options: OverOptions = {}): Promise<Staged> =>
  implementation === "hub" ? stageOverHub(options) : stageOverBucket(options);

async function stageOverHub({ isSealed, hub }: OverOptions): Promise<Staged> {
  const stage = await openStage(hub === undefined ? {} : { hub });
  const { client, dir, store, folderOf } = stage;
  if (isSealed) await client.sealing.set.mutate({ id: stage.profileId, sealing: "names", understood: true });
  const stateOf = (name: string) => join(dir, "nodes", name, "state");
  return {
    implementation: "hub",
    dir,
    store,
    folderOf,
    stateOf,
    startNode: stage.startNode,
    joining: (name, args) =>
      runOnce(testedWorker(), [...args, "--state", stateOf(name), "--hub", stage.hub.url, "--name", name], {
        env: { TIDEMARK_TOKEN: stage.token },
      }),
    restore: restoreBy(stateOf),
    completeOf: async (run) => {
      const { checkpoints } = await client.runs.get.query({ run: runName.parse(run) }).catch((error: unknown) => {
        if (faultOf(error)?.code !== "NOT_FOUND") throw error;
        return { checkpoints: [] };
      });
      return checkpoints
        .filter(({ state }) => state === "complete")
        .map(({ step, doubt, role, isNewest, fileCount, place }) => ({
          step,
          doubt,
          role: role ?? "checkpoint",
          isNewest,
          fileCount,
          place: place ?? null,
        }));
    },
    manifestsOf: (run) => readManifests(store, run),
    stage: () => stage,
    close: stage.close,
  };
}

async function stageOverBucket({ isSealed }: OverOptions): Promise<Staged> {
  const dir = mkdtempSync(join(tmpdir(), "tidemark-alone-"));
  const workers: RunningProcess[] = [];
  const store = await startStore({ dataDir: join(dir, "store"), control: "alone-control-token" });
  const key = join(dir, "key");
  if (isSealed) await runOnce(testedWorker(), ["keygen", key]);
  const place = ["--to", `s3://${store.bucket}`, ...(isSealed ? ["--encrypt-key", key, "--encrypt-names"] : [])];
  const folderOf = (name: string) => join(dir, "nodes", name, "checkpoints");
  const stateOf = (name: string) => join(dir, "nodes", name, "state");
  const keys = keysInEnv(store);
  return {
    implementation: "alone",
    dir,
    store,
    folderOf,
    stateOf,
    startNode: async (node) => {
      mkdirSync(folderOf(node.name), { recursive: true });
      const worker = await startWorker({
        hubUrl: null,
        stateDir: stateOf(node.name),
        watch: folderOf(node.name),
        ...node,
        flags: [...place, ...(node.flags ?? [])],
        env: { ...keys, ...node.env },
      });
      workers.push(worker);
      return worker;
    },
    joining: (name, args) =>
      runOnce(testedWorker(), [...args, "--state", stateOf(name), "--name", name, ...place], { env: keys }),
    restore: restoreBy(stateOf),
    completeOf: async (run) => {
      const manifests = await readManifests(store, run);
      const newest = manifests.find(({ doubt, role }) => doubt === undefined && role === undefined);
      return manifests.map((one) => ({
        step: one.step,
        doubt: one.doubt ?? null,
        role: one.role ?? "checkpoint",
        isNewest: one === newest,
        fileCount: one.files.length,
        place: one.place ?? null,
      }));
    },
    manifestsOf: (run) => readManifests(store, run),
    stage: () => {
      throw new Error("there is no hub: the worker works over the bucket alone");
    },
    close: async () => {
      await Promise.all(workers.map((worker) => worker.stop()));
      await store.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

const restoreBy = (stateOf: (name: string) => string) => (name: string, what: string, target: string) =>
  runOnce(testedWorker(), ["restore", what, target, "--state", stateOf(name)]);

/** Reads with the keys of the store, so that neither the hub nor the worker is judged by its own reader. */
async function readManifests(store: RunningStore, run: string): Promise<Manifest[]> {
  const client = createControlClient({
    access: { ...store, region: "us-east-1", addressing: "path", traits: traitsOf("minio") },
    credential: { accessKeyId: store.accessKey, secretAccessKey: store.secretKey },
  });
  try {
    const { bucket } = store;
    const found: Manifest[] = [];
    for await (const { key } of listObjects(client, { bucket, prefix: `${OWN_FOLDERS.manifests}${run}/` })) {
      const { text } = await getObjectText(client, { bucket, key, maxBytes: 64 * 1024 * 1024 });
      found.push(manifestSchema.parse(JSON.parse(text)));
    }
    return found.toSorted((a, b) => b.writerEpoch - a.writerEpoch || b.step - a.step);
  } finally {
    client.destroy();
  }
}

/** Resolves when a checkpoint of the run is complete: that of `step`, or any. */
export const waitSafe = (staged: Staged, run: string, step?: number): Promise<StagedCheckpoint> =>
  waitUntil(`${step === undefined ? "a checkpoint" : `step ${step}`} of ${run} is complete`, async () =>
    (await staged.completeOf(run)).find((one) => step === undefined || one.step === step),
  );
