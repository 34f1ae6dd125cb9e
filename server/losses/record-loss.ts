import { createHash } from "node:crypto";
import type { NodeEvent } from "#protocol/reports.ts";
import { formatCount, formatDuration } from "#protocol/units.ts";
import type { EventRow } from "#protocol/views.ts";
import type { Transaction } from "#prisma/open.ts";
import { recordEvent } from "../events/record-event.ts";
import type { Hub } from "../hub.ts";
import type { LiveNode } from "../live/live-node.ts";

/**
 * The loss ledger: what training had to do again. A node that was interrupted and goes on reports it itself, to the step; of
 * one that another node takes over from, what counts is its last report.
 */
interface Lost {
  id: string;
  at: number;
  run: string;
  epoch: number;
  nodeId: string;
  by: { id: string; name: string };
  fromStep: number | null;
  lastStep: number;
  lostMs: number;
}

async function write(tx: Transaction, lost: Lost, hub: Pick<Hub, "counters">): Promise<EventRow | null> {
  const { id, at, run, epoch, nodeId, by, fromStep, lastStep, lostMs } = lost;
  if ((await tx.loss.count({ where: { id } })) > 0) return null;
  const lostSteps = lastStep - (fromStep ?? 0);
  await tx.loss.create({
    data: {
      id,
      at: new Date(at),
      run,
      epoch,
      nodeId,
      byNodeId: by.id,
      fromStep: fromStep === null ? null : BigInt(fromStep),
      lastStep: BigInt(lastStep),
      lostSteps: BigInt(lostSteps),
      lostMs: BigInt(lostMs),
    },
  });
  hub.counters.losses++;
  hub.counters.lostMs += lostMs;
  const from = fromStep === null ? "its beginning" : `step ${formatCount(fromStep)}`;
  const text = `goes on with ${run} from ${from}: ${formatCount(lostSteps)} steps (${formatDuration(lostMs)}) are done again`;
  return recordEvent(tx, { at, kind: "work-lost", work: "lost", text, node: by, run, step: lastStep });
}

/** What a node lost itself, as it says. Told twice, it is one row. */
export async function recordInterruption(
  { tx, hub, node }: { tx: Transaction; hub: Hub; node: LiveNode },
  event: Extract<NodeEvent, { type: "work-lost" }>,
): Promise<EventRow[]> {
  const { lossId, run, writerEpoch, fromStep, lastStep, lostMs } = event;
  if (lastStep <= (fromStep ?? 0)) return [];
  const lost = {
    id: lossId,
    at: hub.now(),
    run,
    epoch: writerEpoch,
    nodeId: node.id,
    by: node,
    fromStep,
    lastStep,
    lostMs,
  };
  const row = await write(tx, lost, hub);
  return row === null ? [] : [row];
}

/** What the writer before had done by its last report and its successor has not. Null when that is nothing. */
export async function recordTakeover(
  tx: Transaction,
  about: { hub: Hub; run: string; epoch: number; lastNodeId: string; node: LiveNode; parent: Parent | null },
): Promise<EventRow | null> {
  const { hub, run, epoch, lastNodeId, node, parent } = about;
  const report = hub.live.nodes.get(lastNodeId)?.report?.runs.find((backlog) => backlog.run === run);
  if (report === undefined) return null;
  const lastStep = Math.max(report.trainedStep ?? 0, report.localStep ?? 0);
  if (lastStep <= (parent?.step ?? 0)) return null;
  const lastAt = Math.max(report.trainedAt ?? 0, report.localAt ?? 0);
  const since = parent?.at ?? report.startedAt;
  // Told for the time since the newest safe step only: of an older one it is not known.
  const idleMs = (parent?.step ?? null) === report.safeStep ? report.idleMs : 0;
  const lost = {
    id: createHash("sha256").update(`${run}\0${epoch}`).digest("hex").slice(0, 32),
    at: hub.now(),
    run,
    epoch,
    nodeId: lastNodeId,
    by: node,
    fromStep: parent?.step ?? null,
    lastStep,
    lostMs: Math.max(0, lastAt - since - idleMs),
  };
  return write(tx, lost, hub);
}

/** Where the successor goes on, and when that was captured. */
interface Parent {
  step: number;
  at: number;
}
