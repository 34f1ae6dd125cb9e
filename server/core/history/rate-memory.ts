import type { Database } from "#prisma/open.ts";
import type { Places } from "../api/ports/history.ts";
import type { RateMemory, Way } from "../api/ports/history.ts";

const TRANSFERS_REMEMBERED = 5;
const READ_AT_START = 20_000;

const nameOf = ({ nodeId, profileId, direction }: Way): string => `${nodeId} ${profileId} ${direction}`;

export function createRateMemory(): RateMemory {
  const transfers = new Map<string, number[]>();
  const probes = new Map<string, number>();
  return {
    transfers: (about) => transfers.get(nameOf(about)) ?? [],
    probe: (about) => probes.get(nameOf(about)) ?? null,
    addTransfer: (about, bytesPerSecond) => {
      const name = nameOf(about);
      transfers.set(name, [...(transfers.get(name) ?? []), bytesPerSecond].slice(-TRANSFERS_REMEMBERED));
    },
    setProbe: (about, bytesPerSecond) => void probes.set(nameOf(about), bytesPerSecond),
  };
}

/** Fills the memory from the newest records of all nodes. */
export async function loadRates(db: Database, places: Places): Promise<RateMemory> {
  const rates = createRateMemory();
  const rows = await db.linkRecord.findMany({
    where: { outcome: { notIn: ["failed", "cancelled"] } },
    orderBy: [{ at: "desc" }, { id: "desc" }],
    take: READ_AT_START,
    select: { kind: true, node: true, up: true, down: true, effective: true, seriesId: true },
  });
  for (const { kind, node, up, down, effective, seriesId } of rows.toReversed()) {
    const nodeId = places.nodeIdOf(node);
    const profileId = places.profileOf(seriesId);
    if (nodeId === null || profileId === null) continue;
    const about = { nodeId, profileId };
    if (kind === "probe") {
      if (up !== null) rates.setProbe({ ...about, direction: "upload" }, up);
      if (down !== null) rates.setProbe({ ...about, direction: "download" }, down);
    } else if (effective !== null) {
      rates.addTransfer({ ...about, direction: kind === "upload" ? "upload" : "download" }, effective);
    }
  }
  return rates;
}
