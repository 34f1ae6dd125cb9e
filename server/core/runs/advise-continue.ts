import type * as z from "zod";
import {
  adviceOf,
  continueFrom,
  inNamingOrder,
  MOST_NAMED,
  type ContinueAdvice,
  type DiskPoint,
  type RestorePoint,
} from "#protocol/checkpoint/continue-words.ts";
import type { restorePointsInput } from "#protocol/wire/hello.ts";
import type { Hub } from "../api/hub.ts";
import type { NodeCaller } from "../api/caller.ts";
import type { Context } from "../api/trpc.ts";
import type { LiveNode } from "../live/live-node.ts";
import { readNode } from "../nodes/list.ts";
import { readRestorePoints } from "./newest.ts";

/** Nodes of which one call reads. */
const MOST_NODES = 200;
/** Runs of one node that a page lists with their newest step. */
const MOST_LISTED = 16;

/** The runs that a node writes, by its last report, in naming order. */
function writtenBy({ live }: Pick<Hub, "live">, { id, report }: LiveNode): DiskPoint[] {
  const written = (report?.runs ?? []).filter(({ run }) => live.mayWriteNow(run, id));
  return inNamingOrder(
    written.map(({ run, safeStep, localStep, localAt, unsafeCheckpoints, unsafeBytes }) => ({
      run,
      safeStep,
      localStep,
      localAt,
      unsafe: { checkpoints: unsafeCheckpoints, bytes: unsafeBytes },
    })),
  );
}

/**
 * Returns for each of these nodes, 200 at most, what the runs that it writes can be continued from: the checkpoint by the hub's
 * record, what its disk has by its last report. One question to the database. `most`: runs of a node that are read.
 */
export async function adviseContinue(
  hub: Pick<Hub, "db" | "live">,
  { nodeIds, most = MOST_NAMED }: { nodeIds: readonly string[]; most?: number },
): Promise<Map<string, ContinueAdvice>> {
  const nodes = nodeIds.slice(0, MOST_NODES).flatMap((id) => hub.live.nodes.get(id) ?? []);
  const asked = nodes.map((node) => ({ node, written: writtenBy(hub, node) }));
  const names = new Set(asked.flatMap(({ written }) => written.slice(0, most).map(({ run }) => run)));
  const points = await readRestorePoints(hub.db, [...names]);
  return new Map(
    asked.map(({ node, written }) => {
      const runs = written.slice(0, most).map((disk) => continueFrom(disk, points.get(disk.run)));
      return [node.id, adviceOf(runs, { node: node.name, total: written.length })];
    }),
  );
}

/** Returns the advice for one node, by its id or its name, with the newest step of up to 16 of its runs. @throws Fault NOT_FOUND */
export async function continueNode(hub: Hub, idOrName: string): Promise<ContinueAdvice> {
  const { id } = readNode(hub, idOrName);
  const found = await adviseContinue(hub, { nodeIds: [id], most: MOST_LISTED });
  return found.get(id) ?? { runs: [], text: "" };
}

/** Returns the record's part for a node that asks about its own runs. A run of which it is not the writer is left out, unless nobody knows it. */
export async function tellRestorePoints(
  { hub, caller }: Context & { caller: NodeCaller },
  { runs }: z.infer<typeof restorePointsInput>,
): Promise<RestorePoint[]> {
  const own = runs.filter((run) => hub.live.mayWriteNow(run, caller.nodeId));
  const points = await readRestorePoints(hub.db, own);
  return own
    .filter((run) => hub.live.writers.has(run) || !points.has(run))
    .map((run) => points.get(run) ?? { run, newest: null, trashedStep: null });
}
