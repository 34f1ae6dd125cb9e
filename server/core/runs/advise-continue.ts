import {
  adviceOf,
  continueFrom,
  inNamingOrder,
  MOST_NAMED,
  type ContinueAdvice,
  type DiskPoint,
} from "#protocol/checkpoint/continue-words.ts";
import type { Hub } from "../api/hub.ts";
import type { LiveNode } from "../live/live-node.ts";
import { readNode } from "../nodes/list.ts";
import { readRestorePoints, readStoredPieces } from "./newest.ts";

/** Nodes that one call reads. */
const MOST_NODES = 200;
/** Runs of one node that a page lists with their newest step. */
const MOST_LISTED = 16;

/** Returns the runs that a node writes by its last report, in naming order. */
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
 * Returns for each of these nodes, 200 at most, from which checkpoint its runs can resume. The checkpoint comes from the
 * database, the state of the node's disk from its last report. Needs one query, and one more where a disk has what the
 * database lacks. `most`: runs per node.
 */
export async function adviseContinue(
  hub: Pick<Hub, "db" | "live">,
  { nodeIds, most = MOST_NAMED }: { nodeIds: readonly string[]; most?: number },
): Promise<Map<string, ContinueAdvice>> {
  const nodes = nodeIds.slice(0, MOST_NODES).flatMap((id) => hub.live.nodes.get(id) ?? []);
  const asked = nodes.map((node) => ({ node, written: writtenBy(hub, node) }));
  const names = new Set(asked.flatMap(({ written }) => written.slice(0, most).map(({ run }) => run)));
  const points = await readRestorePoints(hub.db, [...names]);
  const onDisks = asked.flatMap(({ node, written }) =>
    written.slice(0, most).flatMap((disk) => {
      const { run, onDisk } = continueFrom(disk, points.get(disk.run));
      return onDisk === null ? [] : [{ nodeId: node.id, run, step: onDisk.step }];
    }),
  );
  const pieces = await readStoredPieces(hub.db, onDisks);
  return new Map(
    asked.map(({ node, written }) => {
      const runs = written.slice(0, most).map((disk) => {
        const isStoredPiece = pieces.has(`${node.id} ${disk.run}`) && { isStoredPiece: true as const };
        return continueFrom({ ...disk, ...isStoredPiece }, points.get(disk.run));
      });
      return [node.id, adviceOf(runs, { node: node.name, total: written.length })];
    }),
  );
}

/** Returns the advice for one node, by id or name, with the newest step of up to 16 of its runs. @throws Fault NOT_FOUND */
export async function continueNode(hub: Hub, idOrName: string): Promise<ContinueAdvice> {
  const { id } = readNode(hub, idOrName);
  const found = await adviseContinue(hub, { nodeIds: [id], most: MOST_LISTED });
  return found.get(id) ?? { runs: [], text: "" };
}
