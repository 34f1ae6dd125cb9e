import type { Packing } from "#protocol/checkpoint/packing.ts";
import { priceOverride, type ProfileAbout } from "#protocol/wire/profiles.ts";
import type { ProfileCheck, ProfileTestView, ProfileView } from "#protocol/wire/profile-views.ts";
import type { Tuning } from "#protocol/wire/tuning.ts";
import type { Profile } from "#prisma/client/client.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Role } from "#protocol/wire/requests.ts";
import type { Hub } from "../api/hub.ts";
import { sealingOf } from "./seal-keys.ts";
import { draftOf } from "./open-store.ts";
import { parseStored, readStored } from "#server/platform/stored-json.ts";
import { keyByOf } from "./session-keys.ts";

interface Counts {
  nodes: number;
  runs: number;
  checkpoints: number;
  storedBytes: number;
}

/** Returns the last test. This hub wrote it and only shows it, so no schema checks it; older tests lack some fields. */
function lastTestOf(row: Pick<Profile, "lastTest">): ProfileTestView | null {
  if (row.lastTest === null) return null;
  const test = parseStored(row.lastTest) as ProfileTestView | undefined;
  // Unreadable results count as never tested.
  if (!Array.isArray(test?.checks)) return null;
  const nothing = { rawCode: null, httpStatus: null, skippedBecause: null, note: null };
  const found = { checksum: null, conditionalWrites: null, foundAt: test.at };
  const checks = test.checks.map((check): ProfileCheck => ({ ...nothing, ...check }));
  const whole: ProfileTestView = Object.assign({ leftBehind: [], found }, test);
  return { ...whole, checks };
}

const pricesOf = (row: Pick<Profile, "prices">): ProfileAbout["prices"] => readStored(row.prices, priceOverride);

/** Returns notes, prices, packing and tuning as columns of the database. */
export const aboutColumns = ({ notes, prices, packing, tuning }: ProfileAbout) => ({
  notes,
  prices: prices === null ? null : JSON.stringify(prices),
  ...(packing !== undefined && { packBelowBytes: BigInt(packing.belowBytes), packZstd: packing.zstd }),
  ...(tuning !== undefined && {
    tunePartBytes: tuning.partBytes === null ? null : BigInt(tuning.partBytes),
    tuneConnections: tuning.connections,
  }),
});

/** Returns the part size and number of connections that people set for uploads to this bucket. */
export const tuningOf = (row: Pick<Profile, "tunePartBytes" | "tuneConnections">): Tuning => ({
  partBytes: row.tunePartBytes === null ? null : Number(row.tunePartBytes),
  connections: row.tuneConnections,
});

/** Returns which files of checkpoints nodes pack for this bucket, and how. */
export const packingOf = (row: Pick<Profile, "packBelowBytes" | "packZstd">): Packing => ({
  belowBytes: Number(row.packBelowBytes),
  zstd: row.packZstd,
});

const viewOf = (row: Profile, counts: Counts): ProfileView => ({
  id: row.id,
  version: row.version,
  profile: draftOf(row),
  accessKeyHint: row.accessKeyHint,
  keyBy: keyByOf(row),
  createdAt: row.createdAt.getTime(),
  updatedAt: row.updatedAt.getTime(),
  about: { notes: row.notes, prices: pricesOf(row), packing: packingOf(row), tuning: tuningOf(row) },
  lastTest: lastTestOf(row),
  sealing: sealingOf(row),
  ...counts,
});

async function countsOf(hub: Hub, profileId: string): Promise<Counts> {
  const [nodes, runs, stored] = await Promise.all([
    hub.db.node.count({ where: { profileId, revokedAt: null } }),
    hub.db.run.count({ where: { profileId } }),
    hub.db.checkpoint.aggregate({
      where: { profileId, state: "complete" },
      _count: { id: true },
      _sum: { sizeBytes: true },
    }),
  ]);
  return { nodes, runs, checkpoints: stored._count.id, storedBytes: Number(stored._sum.sizeBytes ?? 0n) };
}

/**
 * Reduces faults to their codes: details of network faults could map the network, so only those who may enter an address read
 * them.
 */
const withoutNetwork = (test: ProfileTestView): ProfileTestView => ({
  ...test,
  checks: test.checks.map((one) => ({ ...one, fault: one.fault === null ? null : { code: one.fault.code } })),
});

/** Returns all profiles by name, without their keys. Only an admin gets the last test in full. */
export async function listProfiles(hub: Hub, as: Role): Promise<ProfileView[]> {
  const rows = await hub.db.profile.findMany({ orderBy: { name: "asc" } });
  const views = await Promise.all(rows.map(async (row) => viewOf(row, await countsOf(hub, row.id))));
  if (as === "admin") return views;
  return views.map((view) => ({ ...view, lastTest: view.lastTest === null ? null : withoutNetwork(view.lastTest) }));
}

/** Returns one profile without its key. @throws Fault NOT_FOUND */
export async function readProfile(hub: Hub, id: string): Promise<ProfileView> {
  const row = await hub.db.profile.findUnique({ where: { id } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
  return viewOf(row, await countsOf(hub, id));
}
