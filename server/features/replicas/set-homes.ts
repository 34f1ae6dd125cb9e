import type * as z from "zod";
import type { RunHomesView, setHomesInput } from "#protocol/wire/homes.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { runName, type RunName } from "#protocol/base/names.ts";
import { listObjects } from "#storage/s3/listing.ts";
import type { Profile } from "#prisma/client/client.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { ensureClaim } from "#server/core/runs/ensure-claim.ts";
import { homesOf } from "#server/core/profiles/homes-of.ts";
import { readHomes } from "./read-homes.ts";
import { refuseHomesOfPieces } from "#server/core/runs/require-joinable.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/** Refuses two profiles of one place: they would be two names for one copy. @throws Fault CONFLICT */
function refuseSamePlace(profiles: readonly Profile[]): void {
  const seen = new Map<string, string>();
  for (const { name, endpoint, bucket, prefix } of profiles) {
    const place = JSON.stringify([URL.canParse(endpoint) ? new URL(endpoint).host : endpoint, bucket, prefix]);
    const other = seen.get(place);
    if (other !== undefined) {
      const detail = `${other} and ${name} lead to the same bucket and prefix`;
      throw new Fault("CONFLICT", { op: "homes", subject: name, detail });
    }
    seen.set(place, name);
  }
}

/**
 * Refuses a bucket with a run of this name that this hub does not know: a rebuild would merge the two. A bucket that was a
 * replica before holds only epochs that this hub knows.
 * @throws Fault CONFLICT, those of the store
 */
async function refuseForeignRun(hub: Hub, about: { run: RunName; profile: Profile }): Promise<void> {
  const { run, profile } = about;
  const store = await hub.stores.open(profile.id);
  const prefix = `${store.prefix}epochs/${run}/`;
  const known = await hub.db.epoch.findMany({ where: { run }, select: { epoch: true } });
  const epochs = new Set(known.map(({ epoch }) => epoch));
  for await (const { key } of listObjects(store.client, { bucket: store.access.bucket, prefix })) {
    const epoch = Number(/^e(\d{6})\.json$/.exec(key.slice(prefix.length))?.[1] ?? NaN);
    if (epochs.has(epoch)) continue;
    const detail = `${profile.name} already holds a run of that name that this hub does not know; choose another bucket or prefix`;
    throw new Fault("CONFLICT", { op: "homes", subject: run, detail });
  }
}

/**
 * Writes the newest claim of a run into a new replica, so that a hub can be rebuilt from it alone. Best effort: a copy writes
 * it too.
 */
async function claimThere(hub: Hub, run: RunName, profileId: string): Promise<void> {
  const last = await hub.db.epoch.findFirst({ where: { run }, orderBy: { epoch: "desc" } });
  if (last === null) return;
  const store = await hub.stores.open(profileId);
  await ensureClaim(hub, store, { run, epoch: last.epoch }).catch((error: unknown) =>
    hub.log.warn({ error, profileId }, "the claim of a run is not in its new home yet"),
  );
}

/**
 * Sets the buckets of a run, in order. Checkpoints in a removed bucket stay there, are read from there and deleted with the
 * checkpoint; only new ones do not go there. Nodes that write the run are told at once.
 * @throws Fault NOT_FOUND, CONFLICT, HISTORY_UNREAD, BAD_INPUT when several nodes write it together, those of the store of an
 * added bucket
 */
export async function setHomes(
  { hub, caller }: Context & { caller: PersonCaller },
  input: z.infer<typeof setHomesInput>,
): Promise<RunHomesView> {
  const { profileIds, copies } = input;
  const run = runName.parse(input.run);
  const before = await homesOf(hub.db, run);
  if (before === null) throw new Fault("NOT_FOUND", { subject: "this run" });
  const { highestSeen } = await hub.db.run.findUniqueOrThrow({ where: { name: run }, select: { highestSeen: true } });
  if (highestSeen === null) throw new Fault("HISTORY_UNREAD", { subject: run });
  const rows = await hub.db.profile.findMany({ where: { id: { in: profileIds } } });
  const profiles = profileIds.map((id) => {
    const row = rows.find((one) => one.id === id);
    if (row === undefined) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
    return row;
  });
  refuseSamePlace(profiles);
  await refuseHomesOfPieces(hub, { run, homes: profiles });
  const added = profiles.filter(({ id }) => !before.profileIds.includes(id));
  for (const profile of added) await refuseForeignRun(hub, { run, profile });
  const at = new Date(hub.now());
  const addedBy = caller.person.email;
  const names = profiles.map(({ name }) => name).join(", ");
  const event = await hub.db.$transaction(async (tx) => {
    const known = await tx.runHome.findMany({ where: { run } });
    await tx.runHome.deleteMany({ where: { run } });
    await tx.runHome.createMany({
      data: profileIds.map((profileId, position) => {
        const old = known.find((one) => one.profileId === profileId);
        return { run, profileId, position, addedAt: old?.addedAt ?? at, addedBy: old?.addedBy ?? addedBy };
      }),
    });
    await tx.run.update({ where: { name: run }, data: { profileId: profileIds[0] ?? "", copies } });
    await audit({ db: tx, now: hub.now }, caller, { action: "set homes", subject: `${run}: ${names}` });
    const text = profiles.length === 1 ? `${run} lies in ${names} alone` : `${run} lies in ${names}, in this order`;
    return recordEvent(tx, { at: hub.now(), kind: "homes-changed", work: "safe", run, text });
  });
  for (const { id } of added) await claimThere(hub, run, id);
  hub.live.refreshWriter(run);
  emit(hub, event, ["runs", "profiles", "checkpoints"]);
  return readHomes(hub, run);
}
