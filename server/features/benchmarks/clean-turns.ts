import { benchFolder } from "#protocol/checkpoint/keys.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { deleteMany, DELETE_BATCH } from "#storage/s3/delete-many.ts";
import { listObjects, listUploads } from "#storage/s3/listing.ts";
import { abortUpload } from "#storage/s3/objects.ts";
import type { BenchTurn } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { mayDelete } from "#server/core/retention/may-delete.ts";

/**
 * Deletes from the bucket what a turn made there, once it has ended, also where its node died. Signatures for a failed or
 * cancelled turn stay valid for an hour, so its folder is cleaned a second time.
 */

const AT_ONCE = 50;
/** Lifetime of a signature, with a margin. */
const SIGNED_MS = 65 * 60_000;
const AGAIN_WITHIN_MS = 6 * 3_600_000;

export async function cleanTurns(hub: Hub): Promise<void> {
  const due = await findDue(hub);
  if (due.length === 0 || !(await mayDelete(hub))) return;
  for (const turn of due) {
    try {
      await cleanTurn(hub, turn);
    } catch (error) {
      // A profile takes its key along when it is removed, so nothing can be deleted any more.
      if (!isFault(error) || error.code !== "NOT_FOUND") {
        hub.log.warn({ error, turn: turn.id }, "what a benchmark left could not be removed yet");
        continue;
      }
    }
    await hub.db.benchTurn.update({ where: { id: turn.id }, data: { cleanAt: new Date(hub.now()) } });
    hub.live.markStale(["benchmarks"]);
  }
}

async function findDue(hub: Hub): Promise<BenchTurn[]> {
  const now = hub.now();
  const first = await hub.db.benchTurn.findMany({
    where: { cleanAt: null, startedAt: { not: null }, endedAt: { not: null } },
    take: AT_ONCE,
  });
  const cutOff = await hub.db.benchTurn.findMany({
    where: {
      state: { in: ["failed", "cancelled"] },
      endedAt: { gte: new Date(now - AGAIN_WITHIN_MS), lte: new Date(now - SIGNED_MS) },
      cleanAt: { not: null },
    },
    take: AT_ONCE,
  });
  const isOnce = ({ cleanAt, endedAt }: BenchTurn) =>
    cleanAt !== null && endedAt !== null && cleanAt.getTime() < endedAt.getTime() + SIGNED_MS;
  return [...first, ...cutOff.filter(isOnce)];
}

/** Aborts uploads and deletes objects of one turn. Faults: NOT_FOUND when the profile is gone, those of the store. */
async function cleanTurn(hub: Hub, turn: BenchTurn): Promise<void> {
  const { client, access } = await hub.stores.open(turn.profileId);
  const { bucket } = access;
  const prefix = benchFolder(turn.prefix, turn.id);
  for await (const { key, uploadId } of listUploads(client, { bucket, prefix })) {
    await abortUpload(client, { bucket, key, uploadId });
  }
  let keys: string[] = [];
  const flush = async () => {
    const [failure] = (await deleteMany(client, bucket, keys)).values();
    if (failure !== undefined) throw failure;
    keys = [];
  };
  for await (const { key } of listObjects(client, { bucket, prefix })) {
    keys.push(key);
    if (keys.length === DELETE_BATCH) await flush();
  }
  if (keys.length > 0) await flush();
}
