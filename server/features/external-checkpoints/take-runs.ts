import { setTimeout } from "node:timers/promises";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import { runName } from "#protocol/base/names.ts";
import { OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import { LEASE_MS, readLeaseText } from "#protocol/checkpoint/writer-lease.ts";
import type { RunsTaken } from "#protocol/wire/upkeep.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { getObjectText } from "#storage/s3/objects.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { markPrefix } from "#server/core/profiles/mark-prefix.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { readBucket } from "#server/core/record/read-bucket.ts";
import { foundText } from "#server/core/record/settle-history.ts";
import { showHistory } from "#server/core/record/show-history.ts";

/**
 * Records the runs that nodes without a hub wrote below the prefix of a bucket: their checkpoints are complete at once, by
 * their manifests and a listing, and no byte of them is moved or read. Marks the prefix, so that no node starts there without
 * this hub from then on. A node that writes right now keeps its lease until it ends or is started with the hub.
 */

/** Answers before a proxy times out, while the hub continues to read. */
const ANSWER_MS = 20_000;
const MOST_LEASES = 100;
const MOST_LEASE_BYTES = 64 * 1024;

/** Readings that go on, by profile. A second call joins the first. */
const reading = new WeakMap<object, Map<string, Promise<RunsTaken>>>();

/**
 * Takes the runs in a bucket over, or joins a call that does. May be repeated: what is known is not read again.
 * @throws Fault NOT_FOUND, ENDPOINT_REFUSED, those of the store: what was recorded stays
 */
export async function takeRuns(context: Context, { id }: { id: string }): Promise<RunsTaken> {
  const { hub } = context;
  const profile = await hub.db.profile.findUnique({ where: { id }, select: { name: true } });
  if (profile === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
  const known = reading.get(hub.db) ?? new Map<string, Promise<RunsTaken>>();
  reading.set(hub.db, known);
  const under = known.get(id) ?? begin(context, { id, name: profile.name, known });
  const answered = new AbortController();
  const later: RunsTaken = { isRunning: true, found: null, writing: [] };
  const wait = setTimeout(ANSWER_MS, later, { signal: answered.signal }).catch(() => later);
  try {
    return await Promise.race([under, wait]);
  } finally {
    answered.abort();
  }
}

function begin(
  context: Context,
  { id, name, known }: { id: string; name: string; known: Map<string, Promise<RunsTaken>> },
): Promise<RunsTaken> {
  const { hub } = context;
  const under = takeAll(context, { id, name }).finally(() => known.delete(id));
  known.set(id, under);
  // Nobody may wait for it any more when it fails.
  under.catch((error: unknown) => hub.log.warn({ error: toFault(error) }, "the runs of a bucket were not taken over"));
  return under;
}

async function takeAll(context: Context, { id, name }: { id: string; name: string }): Promise<RunsTaken> {
  const { hub, caller } = context;
  const store = await hub.stores.open(id);
  await markPrefix(hub, store);
  const found = await readBucket(hub, id);
  const writing = await findWriting(hub, store);
  await showHistory(hub);
  const { live } = hub;
  live.totals = { ...live.totals, checkpointsComplete: live.totals.checkpointsComplete + found.checkpoints };
  await audit(hub, caller, { action: "take runs over", subject: name, subjectId: id });
  const text = `The runs in ${name} were taken over: ${foundText(found)}`;
  const work = found.refused > 0 || found.missing > 0 ? "risk" : "safe";
  const event = await recordEvent(hub.db, { at: hub.now(), kind: "upkeep", work, text });
  emit(hub, event, ["runs", "checkpoints", "profiles"]);
  return { isRunning: false, found, writing };
}

/** Returns the nodes that hold a lease without a hub now. Faults: those of the store. */
async function findWriting(
  hub: Pick<Hub, "now">,
  { client, access, prefix }: OpenStore,
): Promise<RunsTaken["writing"]> {
  const folder = `${prefix}${OWN_FOLDERS.own}writers/`;
  const writing: RunsTaken["writing"] = [];
  let leases = 0;
  for await (const { key, modifiedAt } of listObjects(client, { bucket: access.bucket, prefix: folder })) {
    const run = runName.safeParse(key.slice(folder.length).replace(/\.json$/, ""));
    if (!run.success || modifiedAt + LEASE_MS < hub.now()) continue;
    if (++leases > MOST_LEASES) break;
    try {
      const at = { bucket: access.bucket, key, maxBytes: MOST_LEASE_BYTES };
      const lease = readLeaseText((await getObjectText(client, at)).text);
      if (lease === null || lease.by === "hub" || lease.until <= lease.renewedAt) continue;
      writing.push({ run: run.data, node: lease.node.name });
    } catch (error) {
      if (!isFault(error) || (error.code !== "NO_SUCH_KEY" && error.code !== "TOO_LARGE")) throw error;
    }
  }
  return writing;
}
