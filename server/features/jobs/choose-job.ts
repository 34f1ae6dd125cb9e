import { MOST_BYTES } from "#protocol/base/bounded.ts";
import { fitsPatterns } from "#protocol/base/scope.ts";
import { Prisma } from "#prisma/client/client.ts";
import { wordsOf } from "#prisma/sql-words.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { expectedRate } from "#server/core/history/expected-rate.ts";
import type { JobOffer } from "#server/core/live/job-memory.ts";
import type { LiveNode } from "#server/core/live/live-node.ts";
import { parseStored } from "#server/platform/stored-json.ts";

/** Resources of a node for a job of a queue. An unknown value counts as sufficient. */
export interface Means {
  gpuBytes: number;
  diskBytes: number;
  uplink: number;
  /** Its worker fetches inputs and saves outputs. */
  movesBytes: boolean;
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
/** Less than every rank, and still a number that its column can have. */
const LEAST_RANK = -(2 ** 31);

/** Returns whether a node has the labels that a job needs. */
function hasLabels(node: LiveNode, text: string): boolean {
  const needed = parseStored(text);
  if (typeof needed !== "object" || needed === null) return false;
  return Object.entries(needed).every(([name, value]) => node.facts.labels[name] === value);
}

const fits = (node: LiveNode, row: Row): boolean =>
  (node.mayWrite === null || fitsPatterns(row.run, node.mayWrite)) && hasLabels(node, row.needLabels);

export function meansOf(
  hub: Hub,
  node: LiveNode,
  { gpuMemoryBytes = 0, diskBytes, movesBytes = false }: JobOffer,
): Means {
  const way = { nodeId: node.id, profileId: node.profileId, direction: "upload" as const };
  return {
    gpuBytes: gpuMemoryBytes,
    diskBytes: diskBytes ?? node.report?.disk?.freeBytes ?? MOST_BYTES,
    movesBytes,
    uplink: expectedRate(hub, way)?.bytesPerSecond ?? Number.MAX_SAFE_INTEGER,
  };
}

/** Where a page begins: after a job, or with all jobs behind a rank. Each is a range of the index, both together are not. */
interface From {
  rank: number;
  seq: number | null;
}

/**
 * Returns the first job of a queue that a node can take now; null when there is none. Skips jobs whose needs the node does not
 * meet, from which it is banned, whose run another job writes, whose owner has reached the cap, or whose run is stored in
 * another bucket. Skips jobs of Kelpie workers.
 */
export async function chooseJob(
  hub: Hub,
  node: LiveNode,
  { queue, means, fullOwners }: { queue: string; means: Means; fullOwners: readonly string[] },
): Promise<Candidate | null> {
  const now = new Date(hub.now());
  const words = wordsOf(hub.db);
  const { gpuBytes, diskBytes, uplink, movesBytes } = means;
  let from: From = { rank: LEAST_RANK, seq: null };
  for (let page = FIRST_PAGE; ; page = NEXT_PAGE) {
    const { rank, seq } = from;
    const range = seq === null ? Prisma.sql`j."rank" > ${rank}` : Prisma.sql`j."rank" = ${rank} AND j."seq" > ${seq}`;
    const rows = await hub.db.$queryRaw<Row[]>`
      SELECT j."id", j."run", j."seq", j."rank", j."needLabels" FROM "Job" j
      WHERE j."queue" = ${queue} AND j."state" = 'waiting' AND ${range}
        AND ${words.unindexed('j."dueAt"')} <= ${now} AND j."needGpuBytes" <= ${gpuBytes} AND j."needDiskBytes" <= ${diskBytes}
        AND j."needUplink" <= ${uplink}
        AND (${movesBytes} OR NOT EXISTS (SELECT 1 FROM "JobBytes" m WHERE m."jobId" = j."id"))
        AND NOT EXISTS (SELECT 1 FROM "KelpieJob" k WHERE k."jobId" = j."id")
        AND (${fullOwners.length === 0} OR j."ownerId" NOT IN ${words.texts(fullOwners)})
        AND NOT EXISTS (SELECT 1 FROM "JobBan" b WHERE b."jobId" = j."id" AND b."nodeId" = ${node.id} AND b."until" > ${now})
        AND NOT EXISTS (SELECT 1 FROM "Job" o WHERE o."run" = j."run" AND o."state" = 'running')
        AND NOT EXISTS (SELECT 1 FROM "Run" r WHERE r."name" = j."run" AND r."profileId" <> ${node.profileId}
          AND NOT EXISTS (SELECT 1 FROM "RunHome" h WHERE h."run" = r."name" AND h."profileId" = ${node.profileId}))
      ORDER BY j."rank", j."seq" LIMIT ${page}`;
    const found = rows.find((row) => fits(node, row));
    if (found !== undefined) return { id: found.id, run: found.run };
    const last = rows.at(-1);
    if (last !== undefined && rows.length === page) from = { rank: Number(last.rank), seq: Number(last.seq) };
    else if (seq === null) return null;
    else from = { rank, seq: null };
  }
}
