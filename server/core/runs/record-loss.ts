import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { createHash } from "node:crypto";
import type { NodeEvent } from "#protocol/wire/reports.ts";
import { LEAST_UNCERTAIN_MS, lostWords } from "#protocol/history/losses.ts";
import type { EventRow } from "#protocol/wire/views.ts";
import type { Loss } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { recordEvent } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import type { LiveNode } from "../live/live-node.ts";
import { hasWritten } from "./is-writer.ts";

/**
 * An entry of the loss ledger: training that had to be repeated. A node that resumes after an interruption reports its loss
 * exactly. After a takeover the last report of the previous node counts. The successor corrects the entry if it has to go
 * back further than to the newest checkpoint at its claim.
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
  isEstimated: boolean;
}

const againWords = (lost: Parameters<typeof lostWords>[0]): string =>
  `${lostWords(lost)} ${lost.lostSteps === 0 ? "is" : "are"} done again`;

/** An interruption is capped at a year. */
const LONGEST_LOSS_MS = 366 * 86_400_000;
/** Limit per node and day: one interruption a minute. */
const MOST_A_DAY = 1_440;

async function hasToldTooMuch(tx: Transaction, about: { hub: Pick<Hub, "now">; node: LiveNode }): Promise<boolean> {
  const since = new Date(about.hub.now() - 86_400_000);
  return (await tx.loss.count({ where: { nodeId: about.node.id, at: { gte: since } } })) >= MOST_A_DAY;
}

const placeOf = (step: number | null): string => (step === null ? "its beginning" : stepWords(step));

async function write(tx: Transaction, lost: Lost, hub: Pick<Hub, "counters">): Promise<EventRow | null> {
  const { id, at, run, epoch, nodeId, by, fromStep, lastStep, lostMs, isEstimated } = lost;
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
      isEstimated,
    },
  });
  hub.counters.losses++;
  hub.counters.lostMs += lostMs;
  const text = `goes on with ${run} from ${placeOf(fromStep)}: ${againWords({ lostSteps, lostMs, isEstimated })}`;
  return recordEvent(tx, { at, kind: "work-lost", work: "lost", text, node: by, run, step: lastStep });
}

const takeoverId = (run: string, epoch: number): string =>
  createHash("sha256").update(`${run}\0${epoch}`).digest("hex").slice(0, 32);

type WorkLost = Extract<NodeEvent, { type: "work-lost" }>;

/**
 * Returns the takeover that an event corrects: its node could not resume from the epoch's start (a damaged checkpoint) and
 * went further back. Null when the event is about another loss.
 */
async function findTakeover(tx: Transaction, event: WorkLost, node: LiveNode): Promise<Loss | null> {
  const { run, writerEpoch: epoch, fromStep, lastStep } = event;
  const claimed = await tx.epoch.findUnique({ where: { run_epoch: { run, epoch } } });
  if (claimed?.nodeId !== node.id || claimed.parentStep !== BigInt(lastStep)) return null;
  const row = await tx.loss.findUnique({ where: { id: takeoverId(run, epoch) } });
  const goesOnAt = fromStep === null ? null : BigInt(fromStep);
  return row?.fromStep === claimed.parentStep || row?.fromStep === goesOnAt ? row : null;
}

/** Extends the loss of a takeover by the steps in between, which are lost as well. A repeated event counts once. */
async function correct(
  { tx, hub, node }: { tx: Transaction; hub: Hub; node: LiveNode },
  row: Loss,
  event: WorkLost,
): Promise<EventRow[]> {
  const { run, fromStep } = event;
  const lostMs = Math.min(event.lostMs, LONGEST_LOSS_MS);
  const goesOnAt = fromStep === null ? null : BigInt(fromStep);
  if (row.fromStep === goesOnAt) return [];
  const lastStep = Number(row.lastStep);
  const all = { steps: lastStep - (fromStep ?? 0), ms: Number(row.lostMs) + lostMs };
  await tx.loss.update({
    where: { id: row.id },
    data: { fromStep: goesOnAt, lostSteps: BigInt(all.steps), lostMs: BigInt(all.ms) },
  });
  hub.counters.lostMs += lostMs;
  const again = againWords({ lostSteps: all.steps, lostMs: all.ms, isEstimated: row.isEstimated });
  const text = `had to go further back: goes on with ${run} from ${placeOf(fromStep)}, ${again}`;
  return [await recordEvent(tx, { at: hub.now(), kind: "work-lost", work: "lost", text, node, run, step: lastStep })];
}

/** Records the loss that a node reports. A repeated event makes one row. */
export async function recordInterruption(
  { tx, hub, node }: { tx: Transaction; hub: Hub; node: LiveNode },
  event: WorkLost,
): Promise<EventRow[]> {
  const { lossId, run, writerEpoch, fromStep, lastStep, isEstimated = false } = event;
  const lostSteps = lastStep - (fromStep ?? 0);
  if (lostSteps < 0 || (lostSteps === 0 && !isEstimated)) return [];
  if (!(await hasWritten(tx, { run, epoch: writerEpoch }, node.id)) || (await hasToldTooMuch(tx, { hub, node }))) {
    // A refusal would block the node's outbox.
    hub.log.warn(
      { node: node.id, run, writerEpoch },
      "a loss was not written down: it is not this node's, or one of too many",
    );
    return [];
  }
  const lostMs = Math.min(event.lostMs, LONGEST_LOSS_MS);
  const takeover = await findTakeover(tx, event, node);
  if (takeover !== null) return correct({ tx, hub, node }, takeover, event);
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
    isEstimated,
  };
  const row = await write(tx, lost, hub);
  return row === null ? [] : [row];
}

/**
 * Records the steps that the previous writer had done by its last report and the successor lacks. Returns null without a
 * loss.
 */
export async function recordTakeover(
  tx: Transaction,
  about: { hub: Hub; run: string; epoch: number; lastNodeId: string; node: LiveNode; parent: Start | null },
): Promise<EventRow | null> {
  const { hub, run, epoch, lastNodeId, node, parent } = about;
  const report = hub.live.nodes.get(lastNodeId)?.report?.runs.find((backlog) => backlog.run === run);
  if (report === undefined) return null;
  // A time of writing is no step: only the time that was lost is known.
  const isByTime = parent?.isByTime === true || report.isLocalByTime === true;
  const known = isByTime ? (parent?.step ?? 0) : Math.max(report.trainedStep ?? 0, report.localStep ?? 0);
  const lastStep = isByTime ? known : Math.max(known, report.estimatedStep ?? 0);
  const lostSteps = lastStep - (parent?.step ?? 0);
  if (lostSteps < 0 || (lostSteps === 0 && !isByTime && report.isStepUncertain !== true)) return null;
  const lastAt = Math.max(report.trainedAt ?? 0, report.localAt ?? 0);
  const since = parent?.at ?? report.startedAt;
  // The report's idle time covers the time since the newest safe step only; for an older step it is unknown.
  const idleMs = (parent?.step ?? null) === report.safeStep ? report.idleMs : 0;
  const lostMs = Math.min(LONGEST_LOSS_MS, Math.max(0, lastAt - since - idleMs));
  if (lostSteps === 0 && lostMs < LEAST_UNCERTAIN_MS) return null;
  const lost = {
    id: takeoverId(run, epoch),
    at: hub.now(),
    run,
    epoch,
    nodeId: lastNodeId,
    by: node,
    fromStep: parent?.step ?? null,
    lastStep,
    lostMs,
    isEstimated: lastStep > known || lostSteps === 0,
  };
  return write(tx, lost, hub);
}

/** The step that the successor resumes from, and when that was captured (epoch ms). */
export interface Start {
  step: number;
  at: number;
  /** The step is the time of writing. */
  isByTime: boolean;
}
