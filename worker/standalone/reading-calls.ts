import { createHash } from "node:crypto";
import { isAdopted, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import type { RestorePoint } from "#protocol/checkpoint/continue-words.ts";
import { isDamage, withoutNames, type DamageReport } from "#protocol/checkpoint/damage.ts";
import { attemptPrefix, parseDataKey } from "#protocol/checkpoint/keys.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { runName, type RunName } from "#protocol/base/names.ts";
import { MOST_KEPT, type KeptCheckpoint, type NodeStore } from "#protocol/wire/hello.ts";
import { nodeEvent } from "#protocol/wire/reports.ts";
import type { Unreadable } from "#storage/answers/archived-fault.ts";
import { isSealed } from "#storage/encryption/open-manifest.ts";
import { prefixesOf } from "#storage/manifest/archived-files.ts";
import { assertAllListed, takeListed, wantedObjects } from "#storage/manifest/wanted-objects.ts";
import type { HubClient } from "../hub-link/hub.ts";
import type { BucketCalls } from "./bucket-calls.ts";
import { choosingFrom, chooseWanted, foundOf, restorePointOf, type Choosing } from "./choose-checkpoint.ts";
import { answered } from "./hub-answers.ts";
import { keyOfCheckpoint, type KeyFile } from "./key-file.ts";
import { lineOf, type ListedCheckpoint, type RunRecords } from "./run-record.ts";

export interface Reading {
  calls: BucketCalls;
  records: RunRecords;
  store: NodeStore;
  /** Keys of encrypted checkpoints; null: this node has none. */
  keyFile: KeyFile | null;
  /** Checkpoints that this node found damaged. */
  damaged: Set<string>;
  /** Records damage in the bucket for other nodes; null: this node writes nothing there. Faults: those of the store. */
  recordDamage: ((about: { run: RunName; checkpointId: string; report: DamageReport }) => Promise<void>) | null;
}

const LANES = 8;

export const sha256Of = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Returns the bucket's record of a run now. Faults: those of the store. */
export const choosingOf = async ({ records, damaged }: Reading, run: RunName): Promise<Choosing> =>
  choosingFrom(records, await records.read(run), damaged);

/**
 * Checks that every named object is listed with its size and, where ETags are comparable, its ETag. Faults: those of
 * `takeListed`, the store.
 */
export async function assertStored({ calls, store }: Reading, manifest: StoredManifest): Promise<void> {
  const wanted = await wantedObjects(manifest, { isDue: () => false, take: () => Promise.resolve() });
  const prefixes = isAdopted(manifest)
    ? [manifest.origin.place]
    : [...new Set([...wanted.keys()].map((key) => attemptPrefix(store.prefix, parseDataKey(store.prefix, key))))];
  for (const prefix of prefixes) {
    for await (const found of calls.list(prefix)) takeListed(wanted, found, { hasStableEtags: store.traits.trustEtag });
  }
  assertAllListed(wanted);
}

/**
 * Returns the archived objects of a checkpoint. Sends a request for each object whose storage class may be archived.
 * Faults: those of the store.
 */
export async function archivedObjects(calls: BucketCalls, manifest: StoredManifest): Promise<Unreadable[]> {
  const keys = new Set<string>(manifest.files.flatMap(({ extents }) => extents.map(({ key }) => key)));
  const asked: string[] = [];
  for (const prefix of prefixesOf(keys)) {
    for await (const { key, mayBeArchived } of calls.list(prefix))
      if (mayBeArchived === true && keys.has(key)) asked.push(key);
  }
  const archived: Unreadable[] = [];
  await forEachOf(asked, LANES, async (key) => {
    const state = await calls.archiveState(key);
    if (state !== "readable") archived.push({ name: key, state });
  });
  return archived;
}

/**
 * Returns the checkpoints from which each of these runs can be continued; a run that is not in the bucket has no entry.
 * Faults: those of the store.
 */
export async function readPoints(
  { records, damaged }: Pick<Reading, "records"> & Partial<Pick<Reading, "damaged">>,
  runs: readonly RunName[],
): Promise<RestorePoint[]> {
  const points: RestorePoint[] = [];
  await forEachOf(runs, LANES, async (run) => {
    const point = await restorePointOf(choosingFrom(records, await records.read(run), damaged), run);
    if (point !== null) points.push(point);
  });
  return points;
}

/** Answers a node's questions about checkpoints, and records its findings. */
export function readingCalls(parts: Reading) {
  const { records, damaged } = parts;
  /** Returns the manifest; null when it is missing or unreadable. */
  const readable = async (listed: ListedCheckpoint): Promise<StoredManifest | null> => {
    try {
      return (await records.manifest(listed)).manifest;
    } catch (error) {
      if (isFault(error) && error.code === "CHECKPOINT_INCOMPLETE") return null;
      throw error;
    }
  };
  /** Returns whether file names may be written unencrypted. */
  const isPlain = async (checkpointId: string): Promise<boolean> => {
    const listed = await records.find(checkpointId);
    const manifest = listed === null ? null : await readable(listed);
    return manifest !== null && !isSealed(manifest);
  };
  return {
    findCheckpoint: {
      query: async ({ run, ...choice }: Parameters<HubClient["node"]["findCheckpoint"]["query"]>[0]) => {
        const name = runName.parse(run);
        const chosen = await chooseWanted(await choosingOf(parts, name), choice);
        if (chosen === null) return null;
        return answered("findCheckpoint", {
          ...foundOf(name, chosen),
          ...(choice.before !== undefined && { isBefore: true }),
          ...(choice.role !== undefined && { role: choice.role }),
        });
      },
    },
    readCheckpoint: {
      query: async ({ checkpointId, withArchived }: { checkpointId: string; withArchived?: boolean | undefined }) => {
        const listed = await records.find(checkpointId);
        if (listed === null) throw new Fault("NOT_FOUND", { op: "readCheckpoint", subject: checkpointId });
        const { manifest, text } = await records.manifest(listed);
        // If the bucket does not answer, the restore continues and meets the error itself.
        const archived = withArchived === true ? await archivedObjects(parts.calls, manifest).catch(() => []) : [];
        const record = await records.read(manifest.run).catch(() => null);
        const doubt = record?.doubted.get(checkpointId);
        const told = { sha256: sha256Of(text), copies: [], archived, ...(doubt !== undefined && { doubt }) };
        return answered("readCheckpoint", { manifest, ...told });
      },
    },
    releaseKey: {
      mutate: async ({ checkpointId }: { checkpointId: string }) => {
        const listed = await records.find(checkpointId);
        if (listed === null) throw new Fault("NOT_FOUND", { op: "releaseKey", subject: checkpointId });
        const { manifest } = await records.manifest(listed);
        if (!isSealed(manifest)) throw new Fault("BAD_INPUT", { op: "releaseKey", detail: "it is not encrypted" });
        return { key: keyOfCheckpoint(parts.keyFile, manifest).toString("base64url") };
      },
    },
    confirmComplete: {
      query: async ({ checkpointIds }: { checkpointIds: readonly string[] }) => {
        const complete: string[] = [];
        for (const id of new Set(checkpointIds)) {
          const isThere = async () => {
            const listed = damaged.has(id) ? null : await records.find(id);
            if (listed === null) return false;
            const { manifest } = await records.manifest(listed);
            // Read from the bucket now: it may lie in a hub's trash, or be gone.
            const { checkpoints, damaged: known } = await records.read(manifest.run);
            if (known.has(id)) return false;
            if (!checkpoints.some(({ checkpointId }) => checkpointId === id)) return false;
            await assertStored(parts, manifest);
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
        const { record, damaged: known } = await choosingOf(parts, name);
        const line = lineOf(record)
          .filter(({ checkpointId }) => !known.has(checkpointId))
          .slice(0, MOST_KEPT);
        const kept: (KeptCheckpoint | undefined)[] = [];
        await forEachOf([...line.entries()], LANES, async ([index, listed]) => {
          const manifest = await readable(listed);
          if (manifest === null || manifest.role !== undefined) return;
          if (!isAdopted(manifest) && manifest.doubt !== undefined) return;
          kept[index] = { ...foundOf(name, { listed, manifest }), sizeBytes: manifest.sizeBytes };
        });
        return answered(
          "listKept",
          kept.filter((one) => one !== undefined),
        );
      },
    },
    restorePoints: {
      query: async ({ runs }: { runs: readonly string[] }) => {
        const names = runs.map((run) => runName.parse(run));
        return answered("restorePoints", await readPoints(parts, names));
      },
    },
    record: {
      mutate: async ({ events }: Parameters<HubClient["node"]["record"]["mutate"]>[0]) => {
        for (const event of events.map((one) => nodeEvent.parse(one))) {
          if (event.type !== "transfer-ended" || event.direction !== "download") continue;
          if (event.damage !== undefined || (event.fault !== null && isDamage(event.fault.code)))
            damaged.add(event.checkpointId);
          const { run, checkpointId, damage } = event;
          if (damage === undefined || parts.recordDamage === null) continue;
          const report = (await isPlain(checkpointId)) ? damage : withoutNames(damage);
          await parts.recordDamage({ run: runName.parse(run), checkpointId, report });
        }
        return { acceptedThrough: events.at(-1)?.seq ?? 0 };
      },
    },
  };
}
