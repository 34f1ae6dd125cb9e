import {
  FLAG_DOWN_STEADY,
  FLAG_RENTED,
  FLAG_UP_STEADY,
  MOST_STARTS,
  type StartsAnswer,
  type StartsInput,
} from "#protocol/links/thresholds.ts";
import type { Probe } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { mapInSlices } from "#server/platform/pauses.ts";
import { readThresholds } from "./link-policy.ts";
import { isRented } from "./machine-memory.ts";

const DAY_MS = 86_400_000;
/** Rows per query: the client builds all rows of a query at once, which blocks the event loop meanwhile. */
const PORTION = 1_000;

type Row = Pick<
  Probe,
  "at" | "nodeId" | "machine" | "profileId" | "up" | "down" | "rttMs" | "clockSkewMs" | "isUpSteady" | "isDownSteady"
>;
const SELECT = {
  at: true,
  nodeId: true,
  machine: true,
  profileId: true,
  up: true,
  down: true,
  rttMs: true,
  clockSkewMs: true,
  isUpSteady: true,
  isDownSteady: true,
} as const;

/** Returns stored measurements for the page to replay: the newest, at most `MOST_STARTS`. */
export async function readStarts(hub: Hub, input: StartsInput): Promise<StartsAnswer> {
  const { rows: newestFirst, isCut } = await find(hub, input);
  const found = newestFirst.toReversed();
  const { reallocation } = hub.settings;
  const from = found[0]?.at.getTime() ?? hub.now();
  const [nodes, machines, profiles] = [createNumbers(), createNumbers(), createNumbers()];
  const rows = await mapInSlices(found, (row): StartsAnswer["rows"][number] => [
    row.at.getTime() - from,
    nodes.of(row.nodeId),
    machines.of(row.machine),
    profiles.of(row.profileId),
    flagsOf(row),
    row.up,
    row.down,
    row.rttMs,
    row.clockSkewMs,
  ]);
  const grants = await hub.db.reallocation.findMany({
    where: { isGranted: true, at: { gt: new Date(from - reallocation.excludeMs), lt: new Date(from) } },
    orderBy: { at: "asc" },
    select: { at: true, machine: true },
  });
  const earlier = grants.map(({ at, machine }) => ({ at: at.getTime() - from, machine: machines.of(machine) }));
  const known = await hub.db.profile.findMany({ select: { id: true, name: true } });
  const profileNames = new Map(known.map(({ id, name }) => [id, name]));
  return {
    from,
    rows,
    nodes: nodes.names.map((id) => ({ id, name: hub.live.nodes.get(id)?.name ?? null })),
    profiles: profiles.names.map((id) => ({ id, name: profileNames.get(id) ?? null })),
    machines: machines.names.length,
    isCut,
    earlier,
    limits: reallocation,
    now: await readThresholds(hub),
  };
}

/** Returns the flags of a measurement. A rate of an older worker, which did not report steadiness, counts as steady. */
const flagsOf = (row: Row): number =>
  (isRented(row.machine) ? FLAG_RENTED : 0) +
  (row.isUpSteady === false ? 0 : FLAG_UP_STEADY) +
  (row.isDownSteady === false ? 0 : FLAG_DOWN_STEADY);

async function find(hub: Hub, { over, profileId }: StartsInput): Promise<{ rows: Row[]; isCut: boolean }> {
  const where = profileId === null ? {} : { profileId };
  const order = [{ at: "desc" as const }, { id: "desc" as const }];
  // An upper bound on time, because new rows would shift the pages.
  const until = new Date(hub.now());
  if (over.of === "days") {
    const since = new Date(hub.now() - over.days * DAY_MS);
    const rows: Row[] = [];
    for (let skip = 0; rows.length <= MOST_STARTS; skip += PORTION) {
      const at = { gte: since, lte: until };
      const take = { skip, take: PORTION };
      const portion = await hub.db.probe.findMany({ where: { ...where, at }, orderBy: order, ...take, select: SELECT });
      rows.push(...portion);
      if (portion.length < PORTION) break;
    }
    return { rows: rows.slice(0, MOST_STARTS), isCut: rows.length > MOST_STARTS };
  }
  const newest = new Map<string, Row>();
  for (let skip = 0; newest.size < over.most; skip += PORTION) {
    const at = { lte: until };
    const take = { skip, take: PORTION };
    const portion = await hub.db.probe.findMany({ where: { ...where, at }, orderBy: order, ...take, select: SELECT });
    for (const row of portion) {
      const name = `${row.machine} ${row.profileId}`;
      if (newest.size < over.most && !newest.has(name)) newest.set(name, row);
    }
    if (portion.length < PORTION) break;
  }
  return { rows: [...newest.values()], isCut: false };
}

/** Numbers names from 0 in the order in which they come. */
function createNumbers(): { of(name: string): number; names: string[] } {
  const numbers = new Map<string, number>();
  const names: string[] = [];
  return {
    names,
    of: (name) => {
      const known = numbers.get(name);
      if (known !== undefined) return known;
      numbers.set(name, names.length);
      names.push(name);
      return names.length - 1;
    },
  };
}
