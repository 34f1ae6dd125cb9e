import type { KeepsVersions } from "#protocol/base/kept-versions.ts";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import * as z from "zod";
import { isFault } from "#protocol/faults/fault.ts";
import { DEFAULT_PACKING } from "#protocol/checkpoint/packing.ts";
import { LEASE_MS } from "#protocol/checkpoint/writer-lease.ts";
import type { KeepPolicy } from "#protocol/retention/keeping.ts";
import { id, nodeName, type NodeName, type RunName } from "#protocol/base/names.ts";
import type { NodeStore } from "#protocol/wire/hello.ts";
import { createDirectSource, type DirectSource } from "#storage/signing/direct-source.ts";
import type { StoreAccess } from "#storage/signing/signing.ts";
import { systemClock } from "../base/clock.ts";
import { parseAddress, prefixForFolder } from "../command-line/address.ts";
import type { Config } from "../command-line/config.ts";
import { usage } from "../command-line/command-context.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";
import type { Hub } from "../hub-link/hub.ts";
import { readCredential } from "../hub-link/node-credential.ts";
import { openKeys } from "../keys/open-keys.ts";
import { readAccess } from "../store-session/store-session.ts";
import { createEngine, type Engine } from "../transfer/engine.ts";
import { createRetrier } from "../transfer/store-session/retry.ts";
import { createUploadAborter, createUploadCalls, type UploadCalls } from "./abort-uploads.ts";
import { createBucketCalls, type BucketCalls } from "./bucket-calls.ts";
import { keepsVersions } from "../object-copy/requests/bucket-versions.ts";
import { createRetentionRunner, type Say } from "./keep-after-commits.ts";
import { createRunClaims, SURE_MS, type RunClaims } from "./claim-run.ts";
import { announceRestore } from "./delete-checkpoint.ts";
import { detectConditions } from "./detect-conditions.ts";
import { createHubMarkWatch, type HubMarkWatch } from "./hub-mark.ts";
import { readKeyFile } from "./key-file.ts";
import { writeDamage } from "./findings.ts";
import { createOtherWriters } from "./other-writers.ts";
import { createRestoreLeases } from "./restore-leases.ts";
import { createRunRecords, type RunRecords } from "./run-record.ts";
import { createStandaloneHub, type StandaloneParts } from "./standalone-hub.ts";

/** A bucket that a node writes with its own keys, and the replacement for a hub there. */
export interface Standalone {
  hub: Hub;
  node: { nodeId: string; name: NodeName };
  /** Creates signatures for one engine, which learns the store's clock and region from answers. */
  createSource(): DirectSource;
  /** `s3://bucket/prefix`, for messages. */
  place: string;
  /** False: the store ignores conditional writes, so only epochs tell two writers apart. */
  isConditional: boolean;
  close(): Promise<void>;
}

const kept = z.object({
  nodeId: id,
  /** Results of testing stores for conditional writes. */
  conditional: z.record(z.string().max(2048), z.boolean()),
});

const RENEW_MS = LEASE_MS / 3;
const CALL_MS = 30_000;
/** Number of connections: enough for claims and listings. */
const CONNECTIONS = 4;
const MEMORY_BYTES = 8 * 1024 * 1024;
/** Includes the spare connections of the engine. */
const LEAST_WIDTH = 8;
/** Memory that the engine needs per connection. */
const CONNECTION_BYTES = 640 * 1024;

/** Reads `--to`. @throws Fault BAD_INPUT */
export function readTo(text: string): { bucket: string; prefix: string } {
  const place = parseAddress(text);
  if (place.kind === "local") throw usage(`--to ${text}`, "it is a bucket and a prefix: s3://bucket/prefix");
  return { bucket: place.bucket, prefix: place.key === "" ? "" : prefixForFolder(place) };
}

export interface OpenBucket {
  engine: Engine;
  calls: BucketCalls;
  records: RunRecords;
  access: StoreAccess;
  /** Signs by the clock and in the region that the store's answers revealed. */
  source: DirectSource;
  /** Returns a new source, which no other engine shares. */
  createSource(how?: { putsOnlyIfAbsent: boolean }): DirectSource;
  /** Returns whether the bucket keeps deleted objects as old versions; null when unknown. Never throws. */
  askVersions(): Promise<KeepsVersions>;
  uploads: UploadCalls;
  close(): Promise<void>;
}

/**
 * Opens a bucket for small calls, with the keys of the settings. `connections`: number of parallel calls; default 4.
 * Faults: BAD_INPUT, those of the source of the keys.
 */
export async function openBucket(
  config: Config,
  at: { bucket: string; prefix: string; signal: AbortSignal; connections?: number },
): Promise<OpenBucket> {
  const { connections = CONNECTIONS } = at;
  const keys = openKeys(config);
  const access = readAccess(config, at.bucket);
  const createSource = (how?: { putsOnlyIfAbsent: boolean }) =>
    createDirectSource({ access, credential: keys, ...how });
  const source = createSource();
  const engine = createEngine({
    source,
    traits: access.traits,
    trust: access.trust,
    direction: "down",
    connections,
    memoryBytes: MEMORY_BYTES + connections * CONNECTION_BYTES,
    limitBytesPerSecond: 0,
    signerNow: source.now,
    // The caller decides whether to wait, as with a hub that is away.
    retrier: createRetrier(systemClock, CALL_MS),
    idleMs: config.durationMs("stall-after"),
  });
  try {
    // Reports missing keys before anything is read or written.
    await keys.fresh();
  } catch (error) {
    await engine.close();
    throw error;
  }
  const storeSession = {
    engine,
    get access() {
      return source.access;
    },
    keys,
    now: source.now,
    aheadMs: source.aheadMs,
  };
  const calls = createBucketCalls(storeSession, { signal: at.signal, width: Math.max(LEAST_WIDTH, connections) });
  const records = createRunRecords(calls, at.prefix);
  const askVersions = () => keepsVersions(storeSession, at.signal);
  const uploads = createUploadCalls(storeSession, at.signal);
  return { engine, calls, records, access, source, createSource, askVersions, uploads, close: engine.close };
}

/**
 * Opens the replacement for a hub over a bucket. `state`: folder with the node's name. `readsOnly`: nothing is written
 * to the bucket, so a hub may manage it. Faults: BAD_INPUT, PREFIX_OF_HUB, those of the store, CANCELLED.
 */
export async function openStandalone(
  config: Config,
  about: {
    to: string;
    name: string;
    state: string;
    signal: AbortSignal;
    readsOnly?: true;
    keep: KeepPolicy | null;
    say: Say;
  },
): Promise<Standalone> {
  const { bucket, prefix } = readTo(about.to);
  const { signal, readsOnly = false } = about;
  const shown = `s3://${bucket}${prefix === "" ? "" : `/${prefix.replace(/\/$/, "")}`}`;
  const path = join(about.state, "standalone.json");
  const before = await readStateFile(path, kept);
  // A node whose hub is gone continues as the writer that the hub knew.
  const nodeId = before?.nodeId ?? (await readCredential(about.state))?.nodeId ?? randomUUID();
  const keyPath = config.text("encrypt-key");
  const keyFile = keyPath === null ? null : await readKeyFile(keyPath);
  const hideNames = config.isOn("encrypt-names");
  const node = { id: nodeId, name: nodeName.parse(about.name) };
  const opened = await openBucket(config, { bucket, prefix, signal });
  const { calls, records, access, source, createSource, uploads, close } = opened;
  try {
    const hubMark = createHubMarkWatch(calls, { prefix, shown });
    if (!readsOnly) await hubMark.assertNone();
    const known = `${access.endpoint} ${bucket}`;
    const isConditional = before?.conditional[known] ?? (readsOnly ? false : await detectConditions(calls, prefix));
    const conditional = { ...before?.conditional, ...(!readsOnly && { [known]: isConditional }) };
    await writeStateFile(path, { nodeId: node.id, conditional });
    // After a lost answer the object is looked up instead of sent again, as with a hub.
    const createDataSource = () => createSource({ putsOnlyIfAbsent: isConditional });
    const store: NodeStore = {
      profileId: PROFILE_ID,
      profileName: shown,
      bucket,
      endpoint: access.endpoint,
      prefix,
      traits: { ...access.traits, conditionalWrites: isConditional },
      ...(access.trust !== undefined && { trust: access.trust }),
      packing: DEFAULT_PACKING,
      ...(keyFile !== null && { sealing: { ...keyFile.publicKey, hideNames } }),
    };
    const claims = createRunClaims({ calls, prefix, node, isConditional, hubMark });
    const damaged = new Set<string>();
    const assertWriter = async (run: RunName, epoch: number) => {
      // A hub may have taken over the prefix.
      await hubMark.assertNone();
      await claims.confirm(run, epoch, 0);
    };
    const restores = createRestoreLeases({ calls, prefix }, node);
    const announce = async (restore: Parameters<StandaloneParts["announceRestore"]>[0]) => {
      // Under the prefix of a hub only the hub deletes, and it ignores announcements.
      const looking = hubMark.assertNone().catch((error: unknown) => (isFault(error) ? error.code : null));
      if ((await looking) === "PREFIX_OF_HUB") return () => Promise.resolve();
      return announceRestore({ calls, records, prefix, restores }, restore);
    };
    const keeping = { calls, records, prefix, restores, damaged, node: node.name, policy: about.keep, say: about.say };
    const retentionRunner = createRetentionRunner({ ...keeping, assertWriter, keepsVersions: opened.askVersions });
    const uploadAborter = createUploadAborter({
      uploads,
      prefix,
      say: about.say,
      assertWriter: (run, epoch) => claims.confirm(run, epoch, SURE_MS),
    });
    const parts = {
      calls,
      records,
      damaged,
      uploadAborter,
      recordDamage: readsOnly
        ? null
        : (found: Parameters<typeof writeDamage>[1]) => writeDamage({ calls, prefix }, found),
      claims,
      source,
      store,
      keyFile,
      node,
      hubMark,
      retentionRunner,
      announceRestore: announce,
      otherWriters: createOtherWriters({ calls, prefix }, nodeId),
      signal,
    };
    const hub = createStandaloneHub(parts);
    const renewing = keepRenewing(claims, hubMark);
    return {
      hub,
      node: { nodeId: node.id, name: node.name },
      createSource: createDataSource,
      place: shown,
      isConditional,
      close: async () => {
        renewing.end();
        await retentionRunner.idle();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Manifests name the bucket profile in which they lie; without a hub there is none. */
const PROFILE_ID = "standalone";

/**
 * Renews all leases until it is stopped, or until a hub has marked the prefix: the leases then expire, and the hub
 * takes the runs over.
 */
function keepRenewing(claims: RunClaims, hubMark: HubMarkWatch): { end(): void } {
  const renew = async () => {
    if (claims.leases.size === 0) return;
    // A store that does not answer has not confirmed a marker.
    await hubMark.assertNone().catch(() => undefined);
    if (hubMark.seen === null) await claims.renewAll();
  };
  const timer = setInterval(() => void renew(), RENEW_MS).unref();
  return { end: () => clearInterval(timer) };
}
