import { createHash } from "node:crypto";
import { manifest as manifestSchema, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { isDamage } from "#protocol/checkpoint/damage.ts";
import { attemptPrefix, manifestKey, parseDataKey } from "#protocol/checkpoint/keys.ts";
import { isAdopted, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import { HUB_FEATURES, MOST_KEPT, type KeptCheckpoint, type NodeStore } from "#protocol/wire/hello.ts";
import { runName, type NodeName, type RunName } from "#protocol/base/names.ts";
import { nodeEvent } from "#protocol/wire/reports.ts";
import { NO_THRESHOLDS } from "#protocol/links/probe.ts";
import { assertAllListed, takeListed, wantedObjects } from "#storage/manifest/wanted-objects.ts";
import type { RequestSource } from "#storage/signing/signing.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import type { Hub, HubClient } from "../hub-link/hub.ts";
import type { BucketCalls } from "./bucket-calls.ts";
import { chooseWanted, foundOf } from "./choose-checkpoint.ts";
import { claimRun, type RunClaims } from "./claim-run.ts";
import { lineOf, type RunRecords } from "./run-record.ts";

/**
 * Stands in the place of a hub over one bucket: a node that works alone asks it what it would ask a hub. Claims, keys, packs and
 * manifests lie in the bucket as a hub writes them, so a hub that is set up later finds them as its own.
 */
export interface StandaloneParts {
  calls: BucketCalls;
  records: RunRecords;
  claims: RunClaims;
  source: RequestSource;
  store: NodeStore;
  node: { id: string; name: NodeName };
  signal: AbortSignal;
}

/** How often the node looks at itself; nobody else does. */
const REPORT_EVERY_MS = 5_000;
/** Pieces of several nodes are joined by a hub alone. */
const FEATURES = HUB_FEATURES.filter((feature) => feature !== "pieces");
const LANES = 8;

const sha256Of = (text: string): string => createHash("sha256").update(text).digest("hex");

/** @throws Fault BAD_INPUT */
const needsHub = (op: string) => (): Promise<never> =>
  Promise.reject(new Fault("BAD_INPUT", { op, detail: "only a hub does that; this node works alone, with --to" }));

type AnswerOf<Name extends keyof HubClient["node"]> = HubClient["node"][Name] extends
  | { mutate: (...args: never[]) => Promise<infer Answer> }
  | { query: (...args: never[]) => Promise<infer Answer> }
  ? Answer
  : never;
/** Leaves out what is undefined, as what crosses a network does: the types of a hub's answers say so. */
const answered = <Name extends keyof HubClient["node"]>(_call: Name, value: object): AnswerOf<Name> =>
  JSON.parse(JSON.stringify(value)) as AnswerOf<Name>;

/** Calls are turned into one Fault each, as those to a hub are. */
export function createStandaloneHub(parts: StandaloneParts): Hub {
  const client: HubClient = { node: { ...nodeCalls(parts), ...callsOfFleet(parts) } };
  let isUp = false;
  return {
    // Nobody ever says anything: it stays open until the node ends.
    openStream: (_input, told) => {
      told.onConnectionStateChange({ state: "pending", error: null });
      return () => undefined;
    },
    get isUp() {
      return isUp;
    },
    ask: async (op, work) => {
      try {
        const result = await work(client, parts.signal);
        isUp = true;
        return result;
      } catch (error) {
        if (parts.signal.aborted) throw new Fault("CANCELLED", { op });
        const fault = toFault(error, { op });
        isUp = fault.code !== "LINK_DOWN";
        throw fault;
      }
    },
  };
}

/** Every named object is listed with its size and, where they can be compared, its ETag. Faults: those of `takeListed`, the store. */
async function assertStored({ calls, store }: StandaloneParts, manifest: StoredManifest): Promise<void> {
  const wanted = await wantedObjects(manifest, { isDue: () => false, take: () => Promise.resolve() });
  const prefixes = isAdopted(manifest)
    ? [manifest.origin.place]
    : [...new Set([...wanted.keys()].map((key) => attemptPrefix(store.prefix, parseDataKey(store.prefix, key))))];
  for (const prefix of prefixes) {
    for await (const found of calls.list(prefix)) takeListed(wanted, found, { hasStableEtags: store.traits.trustEtag });
  }
  assertAllListed(wanted);
}

/** Writes the manifest where nothing lies yet, or the same, and reads it back. Faults: CONFLICT, CHECKSUM_MISMATCH, those of the store. */
async function writeManifest({ calls, store }: StandaloneParts, manifest: Manifest, text: string): Promise<void> {
  const { run, step, writerEpoch: epoch, id: checkpointId, attempt } = manifest;
  const key = manifestKey(store.prefix, { run, step, epoch, checkpointId, attempt });
  const condition = store.traits.conditionalWrites ? ({ kind: "absent" } as const) : undefined;
  const isNew = (await calls.write(key, text, condition)) !== null;
  const written = await calls.read(key);
  if (written?.text !== text) throw new Fault(isNew ? "CHECKSUM_MISMATCH" : "CONFLICT", { op: "commit", subject: key });
}

/** What a node asks about its own runs and checkpoints. */
function nodeCalls(parts: StandaloneParts) {
  const { calls, records, claims, source, store, node } = parts;
  const damaged = new Set<string>();
  const choosingOf = async (run: RunName) => ({ records, record: await records.read(run), damaged });
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
      mutate: async ({ run, from, isLine, group }: Parameters<HubClient["node"]["claimEpoch"]["mutate"]>[0]) => {
        if (group !== undefined) {
          const detail = "several nodes that write one run together need a hub, which joins their pieces";
          throw new Fault("BAD_INPUT", { op: "claimEpoch", subject: run, detail });
        }
        const name = runName.parse(run);
        const choosing = await choosingOf(name);
        return answered("claimEpoch", await claimRun(claims, { run: name, from, isLine, choosing }));
      },
    },
    announce: {
      mutate: async ({ run, writerEpoch, role }: Parameters<HubClient["node"]["announce"]["mutate"]>[0]) => {
        claims.requireWriter(runName.parse(run), writerEpoch);
        return { ok: true as const, ...(role !== undefined && { role }) };
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
        await assertStored(parts, manifest);
        // As late as can be: whoever took over meanwhile has its own epoch, and this node stops.
        await claims.renew(manifest.run, manifest.writerEpoch);
        await writeManifest(parts, manifest, text);
        return { sha256: sha256Of(text) };
      },
    },
    findCheckpoint: {
      query: async ({ run, ...wish }: Parameters<HubClient["node"]["findCheckpoint"]["query"]>[0]) => {
        const name = runName.parse(run);
        const chosen = await chooseWanted(await choosingOf(name), wish);
        if (chosen === null) return null;
        return answered("findCheckpoint", {
          ...foundOf(name, chosen),
          ...(wish.before !== undefined && { isBefore: true }),
          ...(wish.role !== undefined && { role: wish.role }),
        });
      },
    },
    readCheckpoint: {
      query: async ({ checkpointId }: { checkpointId: string }) => {
        const listed = await records.find(checkpointId);
        if (listed === null) throw new Fault("NOT_FOUND", { op: "readCheckpoint", subject: checkpointId });
        const { manifest, text } = await records.manifest(listed);
        return answered("readCheckpoint", { manifest, sha256: sha256Of(text), copies: [] });
      },
    },
    confirmComplete: {
      query: async ({ checkpointIds }: { checkpointIds: readonly string[] }) => {
        const complete: string[] = [];
        for (const id of new Set(checkpointIds)) {
          const isThere = async () => {
            const listed = damaged.has(id) ? null : await records.find(id);
            if (listed === null) return false;
            await assertStored(parts, (await records.manifest(listed)).manifest);
            return true;
          };
          const is = await isThere().catch((error: unknown) => {
            if (isFault(error)) return false;
            throw error;
          });
          if (is) complete.push(id);
        }
        return { complete };
      },
    },
    listKept: {
      query: async ({ run }: { run: string }) => {
        const name = runName.parse(run);
        const { record } = await choosingOf(name);
        const line = lineOf(record)
          .filter(({ checkpointId }) => !damaged.has(checkpointId))
          .slice(0, MOST_KEPT);
        const kept: (KeptCheckpoint | undefined)[] = [];
        await forEachOf([...line.entries()], LANES, async ([index, listed]) => {
          const { manifest } = await records.manifest(listed);
          const isWhole = manifest.role === undefined && (isAdopted(manifest) || manifest.doubt === undefined);
          if (isWhole) kept[index] = { ...foundOf(name, { listed, manifest }), sizeBytes: manifest.sizeBytes };
        });
        return answered(
          "listKept",
          kept.filter((one) => one !== undefined),
        );
      },
    },
    record: {
      mutate: async ({ events }: Parameters<HubClient["node"]["record"]["mutate"]>[0]) => {
        for (const event of events.map((one) => nodeEvent.parse(one))) {
          if (event.type !== "transfer-ended" || event.direction !== "download") continue;
          if (event.damage !== undefined || (event.fault !== null && isDamage(event.fault.code)))
            damaged.add(event.checkpointId);
        }
        return { acceptedThrough: events.at(-1)?.seq ?? 0 };
      },
    },
  };
}

/** What a node asks because there are others, and what only a hub can do. */
function callsOfFleet({ calls, claims, store, node }: StandaloneParts) {
  return {
    enrol: { mutate: needsHub("enrol") },
    rotate: { mutate: needsHub("rotate") },
    restorePoints: { query: needsHub("restorePoints") },
    progress: { mutate: async () => ({ settings: { reportEveryMs: REPORT_EVERY_MS } }) },
    homes: { query: async ({ run }: { run: string }) => ({ run: runName.parse(run), copies: 1, homes: [] }) },
    beginCopy: { mutate: async () => ({ isWanted: false }) },
    commitCopy: { mutate: needsHub("commitCopy") },
    openPieces: { query: async () => [] },
    tellSums: { mutate: async () => ({ ok: true as const }) },
    releaseKey: { mutate: needsHub("releaseKey") },
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
        await claims.giveBack();
        return { ok: true as const };
      },
    },
    benchTarget: { query: needsHub("benchTarget") },
    benchStart: { mutate: needsHub("benchStart") },
    benchEnd: { mutate: needsHub("benchEnd") },
    benchTurn: { query: needsHub("benchTurn") },
    benchBegin: { mutate: needsHub("benchBegin") },
    benchCase: { mutate: needsHub("benchCase") },
    benchSign: { mutate: needsHub("benchSign") },
  };
}
