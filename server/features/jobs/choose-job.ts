import { MOST_BYTES } from "#protocol/base/bounded.ts";
import { fitsPatterns } from "#protocol/base/scope.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { expectedRate } from "#server/core/history/expected-rate.ts";
import type { LiveNode } from "#server/core/live/live-node.ts";
import { parseStored } from "#server/platform/stored-json.ts";

/** What a node offers to a job. */
export interface Offer {
  queue: string;
  gpuMemoryBytes?: number | undefined;
  diskBytes?: number | undefined;
}

export interface Candidate {
  id: string;
  run: string;
}

interface Row extends Candidate {
  seq: bigint;
  rank: bigint;
  needLabels: string;
}

/** Rows of the first look, and of the next ones: most nodes can take one of the first jobs. */
const FIRST_PAGE = 100;
const NEXT_PAGE = 5_000;

/** Returns whether a node has the labels that a job needs. */
function hasLabels(node: LiveNode, text: string): boolean {
  const needed = parseStored(text);
  if (typeof needed !== "object" || needed === null) return false;
  return Object.entries(needed).every(([name, value]) => node.facts.labels[name] === value);
}

const fits = (node: LiveNode, row: Row): boolean =>
  (node.mayWrite === null || fitsPatterns(row.run, node.mayWrite)) && hasLabels(node, row.needLabels);

/**
 * Returns the first job of a queue that a node can take now; null when there is none. Skips jobs whose needs it does not meet,
 * that it is banned for, whose run another job is writing, or whose run lives in another bucket.
 */
export async function chooseJob(hub: Hub, node: LiveNode, offer: Offer): Promise<Candidate | null> {
  const now = hub.now();
  const { queue, gpuMemoryBytes = 0 } = offer;
  const disk = offer.diskBytes ?? node.report?.disk?.freeBytes ?? MOST_BYTES;
  const way = { nodeId: node.id, profileId: node.profileId, direction: "upload" as const };
  const uplink = expectedRate(hub, way)?.bytesPerSecond ?? Number.MAX_SAFE_INTEGER;
  let after = { rank: Number.MIN_SAFE_INTEGER, seq: 0 };
  for (let page = FIRST_PAGE; ; page = NEXT_PAGE) {
    const rows = await hub.db.$queryRaw<Row[]>`
      SELECT j."id", j."run", j."seq", j."rank", j."needLabels" FROM "Job" j
      WHERE j."queue" = ${queue} AND j."state" = 'waiting' AND (j."rank", j."seq") > (${after.rank}, ${after.seq})
        AND j."dueAt" <= ${now} AND j."needGpuBytes" <= ${gpuMemoryBytes} AND j."needDiskBytes" <= ${disk}
        AND j."needUplink" <= ${uplink}
        AND NOT EXISTS (SELECT 1 FROM "JobBan" b WHERE b."jobId" = j."id" AND b."nodeId" = ${node.id} AND b."until" > ${now})
        AND NOT EXISTS (SELECT 1 FROM "Job" o WHERE o."run" = j."run" AND o."state" = 'running')
        AND NOT EXISTS (SELECT 1 FROM "Run" r WHERE r."name" = j."run" AND r."profileId" <> ${node.profileId}
          AND NOT EXISTS (SELECT 1 FROM "RunHome" h WHERE h."run" = r."name" AND h."profileId" = ${node.profileId}))
      ORDER BY j."rank", j."seq" LIMIT ${page}`;
    const found = rows.find((row) => fits(node, row));
    if (found !== undefined) return { id: found.id, run: found.run };
    const last = rows.at(-1);
    if (last === undefined || rows.length < page) return null;
    after = { rank: Number(last.rank), seq: Number(last.seq) };
  }
}
