import { manifest as manifestSchema, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { isAdopted } from "#protocol/checkpoint/adopted.ts";
import { manifestKey } from "#protocol/checkpoint/keys.ts";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import { HUB_FEATURES } from "#protocol/wire/hello.ts";
import { runName, type NodeName, type RunName } from "#protocol/base/names.ts";
import { NO_THRESHOLDS } from "#protocol/links/probe.ts";
import { isSealed } from "#storage/encryption/open-manifest.ts";
import type { RequestSource } from "#storage/signing/signing.ts";
import type { Hub, HubClient } from "../hub-link/hub.ts";
import { writeFinding } from "./findings.ts";
import type { UploadAborter } from "./abort-uploads.ts";
import { newestOf, newestOfAny, type Choosing } from "./choose-checkpoint.ts";
import { claimRun, SURE_MS, type RunClaims } from "./claim-run.ts";
import type { OtherWriters } from "./other-writers.ts";
import type { RetentionRunner } from "./keep-after-commits.ts";
import { answered } from "./hub-answers.ts";
import type { HubMarkWatch } from "./hub-mark.ts";
import { holdsKeyOf, keyNeeded } from "./key-file.ts";
import { assertStored, choosingOf, readingCalls, sha256Of, type Reading } from "./reading-calls.ts";

/**
 * Replaces a hub, over one bucket: answers the calls that a node would make to a hub. Claims, keys, packs and manifests
 * lie in the bucket as a hub writes them, so a hub that is set up later takes them over.
 */
export interface StandaloneParts extends Reading {
  claims: RunClaims;
  source: RequestSource;
  node: { id: string; name: NodeName };
  hubMark: HubMarkWatch;
  otherWriters: OtherWriters;
  announceRestore: NonNullable<Hub["announceRestore"]>;
  /** Aborts uploads that earlier writers left unfinished. */
  uploadAborter: UploadAborter;
  /** Applies the rules of `--keep` after commits. */
  retentionRunner: RetentionRunner;
  signal: AbortSignal;
}

/** Longest time that `--keep` and the abort of uploads may take at the end of a worker. */
const REMOVAL_MS = 1_000;
/** Interval of the node's own reports, which nobody else receives. */
const REPORT_EVERY_MS = 5_000;
/** Only a hub joins the pieces of several nodes. */
const FEATURES = HUB_FEATURES.filter((feature) => feature !== "pieces");

/** Parses an input. @throws Fault BAD_INPUT */
const needsHub = (op: string) => (): Promise<never> =>
  Promise.reject(new Fault("BAD_INPUT", { op, detail: "only a hub does that; this node works alone, with --to" }));

/** Calls that need the bucket: only these show whether it can be reached. */
const ASKS_BUCKET: ReadonlySet<string> = new Set([
  "claimEpoch",
  "commit",
  "findCheckpoint",
  "readCheckpoint",
  "releaseKey",
  "listKept",
  "restorePoints",
]);

/** Turns each error into one Fault, as for calls to a hub. */
export function createStandaloneHub(parts: StandaloneParts): Hub {
  const client: HubClient = {
    node: { ...writingCalls(parts), ...doubtingCalls(parts), ...readingCalls(parts), ...callsOfFleet(parts) },
  };
  let isUp = true;
  return {
    // No messages ever come: the stream stays open until the node ends.
    openStream: (_input, told) => {
      told.onConnectionStateChange({ state: "pending", error: null });
      return () => undefined;
    },
    otherWriters: () => {
      parts.otherWriters.look();
      return parts.otherWriters.found;
    },
    announceRestore: parts.announceRestore,
    get isUp() {
      return isUp;
    },
    describe: () => `no hub: it works alone, and the bucket ${isUp ? "answers" : "is away"}`,
    ask: async (op, work) => {
      try {
        const result = await work(client, parts.signal);
        if (ASKS_BUCKET.has(op)) isUp = true;
        return result;
      } catch (error) {
        if (parts.signal.aborted) throw new Fault("CANCELLED", { op });
        const fault = toFault(error, { op });
        if (ASKS_BUCKET.has(op)) isUp = fault.retry !== "backoff";
        throw fault;
      }
    },
  };
}

/**
 * Writes the manifest unless another one exists, and reads it back. Faults: CONFLICT, CHECKSUM_MISMATCH, those of the
 * store.
 */
async function writeManifest({ calls, store }: StandaloneParts, manifest: Manifest, text: string): Promise<void> {
  const { run, step, writerEpoch: epoch, id: checkpointId, attempt } = manifest;
  const key = manifestKey(store.prefix, { run, step, epoch, checkpointId, attempt });
  const condition = store.traits.conditionalWrites ? ({ kind: "absent" } as const) : undefined;
  const isNew = (await calls.write(key, text, condition)) !== null;
  const written = await calls.read(key);
  if (written?.text !== text) throw new Fault(isNew ? "CHECKSUM_MISMATCH" : "CONFLICT", { op: "commit", subject: key });
}

/**
 * Refuses to write a run whose newest checkpoint is encrypted with a key that this node lacks: it could not continue
 * from it, and without any key it would add plain checkpoints. `isFresh`: the run starts from another checkpoint, so
 * that a lost key does not end the run. Faults: SEAL_KEY_NEEDED, those of the store.
 */
async function assertDecrypts(
  { keyFile }: Pick<Reading, "keyFile">,
  choosing: Choosing,
  { isFresh }: { isFresh: boolean },
): Promise<void> {
  // Without any key no plain checkpoint may follow an encrypted one, not even an abandoned or doubtful one.
  const newest = keyFile === null ? await newestOfAny(choosing) : await newestOf(choosing);
  if (newest === null || !isSealed(newest.manifest) || holdsKeyOf(keyFile, newest.manifest)) return;
  if (keyFile === null || !isFresh) throw keyNeeded(keyFile, newest.manifest);
}

/** Answers the calls with which a node writes its runs. */
function writingCalls(parts: StandaloneParts) {
  const { calls, claims, source, store, node } = parts;
  const read = (run: RunName) => choosingOf(parts, run);
  return {
    hello: {
      mutate: async () =>
        answered("hello", {
          accepted: true,
          nodeId: node.id,
          name: node.name,
          store,
          settings: { reportEveryMs: REPORT_EVERY_MS },
          hubTimeMs: calls.now(),
          features: FEATURES,
          acceptedThrough: 0,
        }),
    },
    claimEpoch: {
      mutate: async ({
        run,
        from,
        isLine,
        branch,
        group,
      }: Parameters<HubClient["node"]["claimEpoch"]["mutate"]>[0]) => {
        if (group !== undefined) {
          const detail = "several nodes that write one run together need a hub, which joins their pieces";
          throw new Fault("BAD_INPUT", { op: "claimEpoch", subject: run, detail });
        }
        const name = runName.parse(run);
        await parts.hubMark.assertNone();
        const readWritable = async () => {
          const choosing = await read(name);
          await assertDecrypts(parts, choosing, { isFresh: from !== undefined || isLine === true });
          return choosing;
        };
        const request = { run: name, from, isLine, branch, read: readWritable };
        const claimed = await claimRun(claims, request);
        parts.otherWriters.look();
        const { epoch } = claimed;
        parts.uploadAborter.claimed(name, epoch, claims.firstSendable(name, epoch));
        return answered("claimEpoch", claimed);
      },
    },
    announce: {
      mutate: async ({ run, writerEpoch, role }: Parameters<HubClient["node"]["announce"]["mutate"]>[0]) => {
        const name = runName.parse(run);
        claims.requireWriter(name, writerEpoch);
        const earlier = claims.earlierLine(name, writerEpoch);
        return answered("announce", { ok: true, role, ...(earlier !== null && { earlier }) });
      },
    },
    sign: {
      mutate: async ({ operations }: Parameters<HubClient["node"]["sign"]["mutate"]>[0]) => ({
        requests: await source.sign(operations),
      }),
    },
    commit: {
      mutate: async (input: { manifest: unknown }) => {
        const manifest = manifestSchema.parse(input.manifest);
        const text = JSON.stringify(manifest);
        await Promise.all([assertStored(parts, manifest), parts.hubMark.assertNone()]);
        const { run, writerEpoch } = manifest;
        await claims.confirm(run, writerEpoch, 0);
        await writeManifest(parts, manifest, text);
        // The store may have carried it out long after it was sent.
        await claims.confirm(run, writerEpoch, SURE_MS);
        parts.retentionRunner.committed(manifest);
        parts.otherWriters.look();
        return { sha256: sha256Of(text) };
      },
    },
  };
}

/** Records doubts of this node about checkpoints that it wrote. */
const doubtingCalls = ({ calls, records, store }: StandaloneParts) => ({
  doubt: {
    mutate: async ({ checkpointId, why }: Parameters<HubClient["node"]["doubt"]["mutate"]>[0]) => {
      const listed = await records.find(checkpointId);
      if (listed === null) return { ok: true as const };
      const { manifest } = await records.manifest(listed);
      const { run } = manifest;
      const { doubted } = await records.read(run);
      const isKnown = doubted.has(checkpointId) || isAdopted(manifest) || manifest.doubt !== undefined;
      const hidden = "it may not be whole; its node says why";
      const found = { kind: "doubtful" as const, why: isSealed(manifest) ? hidden : why };
      if (!isKnown) await writeFinding({ calls, prefix: store.prefix }, { run, checkpointId, found });
      return { ok: true as const };
    },
  },
});

/** Answers the calls that concern other nodes, and refuses those that only a hub can answer. */
function callsOfFleet({ calls, claims, store, node, retentionRunner, uploadAborter }: StandaloneParts) {
  return {
    enrol: { mutate: needsHub("enrol") },
    rotate: { mutate: needsHub("rotate") },
    progress: { mutate: async () => ({ settings: { reportEveryMs: REPORT_EVERY_MS } }) },
    homes: { query: async ({ run }: { run: string }) => ({ run: runName.parse(run), copies: 1, homes: [] }) },
    beginCopy: { mutate: async () => ({ isWanted: false }) },
    commitCopy: { mutate: needsHub("commitCopy") },
    openPieces: { query: async () => [] },
    tellSums: { mutate: async () => ({ ok: true as const }) },
    probeTarget: {
      query: async () =>
        answered("probeTarget", {
          nodeId: node.id,
          store,
          machine: null,
          hubTimeMs: calls.now(),
          thresholds: NO_THRESHOLDS,
        }),
    },
    probed: { mutate: async () => ({ ok: true as const }) },
    mayReallocate: {
      mutate: async () => ({ allowed: false as const, reason: "this node works alone: no hub decides on that" }),
    },
    goodbye: {
      mutate: async () => {
        // The next writer continues an interrupted pass, and needs the run to be free.
        await Promise.all([retentionRunner.finish(REMOVAL_MS), uploadAborter.finish(REMOVAL_MS)]);
        await claims.giveBack();
        return { ok: true as const };
      },
    },
    takeJob: { mutate: needsHub("takeJob") },
    nextJob: { mutate: needsHub("nextJob") },
    jobStates: { mutate: needsHub("jobStates") },
    signForJob: { mutate: needsHub("signForJob") },
    readJobPlace: { mutate: needsHub("readJobPlace") },
    keepLogPart: { mutate: needsHub("keepLogPart") },
    endJob: { mutate: needsHub("endJob") },
    benchTarget: { query: needsHub("benchTarget") },
    benchStart: { mutate: needsHub("benchStart") },
    benchEnd: { mutate: needsHub("benchEnd") },
    benchTurn: { query: needsHub("benchTurn") },
    benchBegin: { mutate: needsHub("benchBegin") },
    benchCase: { mutate: needsHub("benchCase") },
    benchSign: { mutate: needsHub("benchSign") },
  };
}
