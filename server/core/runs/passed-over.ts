import * as z from "zod";
import { lineBranch, type LineBranch } from "#protocol/checkpoint/line-branch.ts";
import { isTimeStep, stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import {
  beganElsewhereWords,
  passedOverBy,
  stillPassedOver,
  type PassedOver,
  type Reached,
} from "#protocol/history/passed-over.ts";
import { anyEpoch, step } from "#protocol/base/names.ts";
import { parseJsonOrNull } from "#protocol/base/parse-json-or-null.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { NodeEvent } from "#protocol/wire/reports.ts";
import type { EventRow } from "#protocol/wire/views.ts";
import type { Epoch } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { recordEvent } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import type { LiveNode } from "../live/live-node.ts";
import { hasWritten } from "./is-writer.ts";
import { placeOfRow } from "./place-of-row.ts";
import { RESUMABLE } from "./newest.ts";

/** Restored checkpoints from which the programs of a run did not go on, by what nodes said and by the claims of new lines. */

/** Returns the branch in a row of an epoch; null when the epoch is no new line. */
export const branchOfRow = (stored: string | null): LineBranch | null =>
  stored === null ? null : (lineBranch.safeParse(parseJsonOrNull(stored)).data ?? null);

/** Report of a node about a program, stored with the epoch that the program wrote. */
const toldOver = z.object({
  given: z.object({ epoch: anyEpoch, step }),
  /** Step of the checkpoint that the program went on from; null: the beginning. */
  fromStep: step.nullable(),
  path: z.string(),
  wrote: z.string().optional(),
  at: z.number(),
});
type ToldOver = z.infer<typeof toldOver>;

const toldIn = (stored: string | null): ToldOver | null =>
  stored === null ? null : (toldOver.safeParse(parseJsonOrNull(stored)).data ?? null);

/**
 * A restored checkpoint that matters still. `fromStep` and `path`: null when only the claim of the new line tells of it. `wrote`: the
 * first checkpoint that the program wrote itself.
 */
export interface PassedOverRow extends PassedOver {
  nodeId: string;
  fromStep: number | null;
  path: string | null;
  wrote?: string | undefined;
}

const MOST_LOOKED_AT = 8;

type Db = Pick<Transaction, "epoch" | "checkpoint" | "run">;

function rowsOf(epochs: readonly Epoch[]): PassedOverRow[] {
  const found: PassedOverRow[] = [];
  for (const { epoch, nodeId, claimedAt, branch, passedOver } of epochs) {
    const told = toldIn(passedOver);
    if (told !== null) found.push({ ...told, epoch, nodeId, isLine: false });
    const byLine = passedOverBy(branchOfRow(branch), claimedAt.getTime());
    const isTold = found.some(({ epoch: of, given }) => of === byLine?.epoch && given.step === byLine.given.step);
    if (byLine !== null && !isTold) found.push({ ...byLine, nodeId, fromStep: null, path: null });
  }
  return found;
}

/**
 * Returns the restored checkpoints of a run that its programs did not continue from, oldest first, until a later checkpoint has
 * reached their step, a person has seen it, or a person chose another start.
 */
export async function findPassedOver(db: Db, run: string): Promise<PassedOverRow[]> {
  const epochs = await db.epoch.findMany({ where: { run }, orderBy: { epoch: "asc" } });
  const all = rowsOf(epochs);
  if (all.length === 0) return [];
  const seen = (await db.run.findUnique({ where: { name: run }, select: { lineSeenAt: true } }))?.lineSeenAt ?? null;
  const chosen = epochs.findLast(({ isChosen }) => isChosen)?.epoch ?? 0;
  const unseen = all.filter(({ at, epoch }) => epoch >= chosen && (seen === null || at > seen.getTime()));
  const still: PassedOverRow[] = [];
  for (const one of unseen) still.push(...stillPassedOver([one], await findReached(db, run, one)));
  return still;
}

/** Returns the checkpoint of the lowest step that may have reached the one that was passed over; empty: none has. */
async function findReached(db: Db, run: string, { given, epoch, at }: PassedOver): Promise<Reached[]> {
  const step = { gte: BigInt(given.step) };
  const found = await db.checkpoint.findMany({
    where: {
      run,
      state: "complete",
      ...RESUMABLE,
      OR: [
        { writerEpoch: { gt: epoch }, step },
        { writerEpoch: epoch, step: { gt: BigInt(given.step) }, capturedAt: { gt: new Date(at) } },
      ],
    },
    select: { writerEpoch: true, step: true, capturedAt: true, place: true },
    // Steps that are times of writing come last.
    orderBy: [{ step: "asc" }, { capturedAt: "desc" }],
    take: MOST_LOOKED_AT,
  });
  return found.flatMap((row) => {
    const one = { epoch: row.writerEpoch, step: Number(row.step), at: row.capturedAt.getTime() };
    return isTimeStep({ ...one, source: stepSourceOf(placeOfRow(row)) }) ? [] : [one];
  });
}

type BeganElsewhere = Extract<NodeEvent, { type: "began-elsewhere" }>;

/**
 * Records that a program did not continue from what it was given. One that is sent again adds only what the program wrote, and one about a
 * run that others write is ignored: a refusal would block the node's outbox.
 */
export async function recordPassedOver(
  { tx, hub, node }: { tx: Transaction; hub: Pick<Hub, "now" | "log">; node: LiveNode },
  event: BeganElsewhere,
): Promise<EventRow[]> {
  const { run, writerEpoch: epoch, given, fromStep, path, wrote, isAgain } = event;
  if (!(await hasWritten(tx, { run, epoch }, node.id))) {
    hub.log.warn({ node: node.id, run, epoch }, "a node spoke of an epoch that others write");
    return [];
  }
  const where = { run_epoch: { run, epoch } };
  const before = toldIn((await tx.epoch.findUnique({ where, select: { passedOver: true } }))?.passedOver ?? null);
  const isSame = isAgain === true && before?.given.epoch === given.epoch && before.given.step === given.step;
  const seenAt = isSame ? before.at : hub.now();
  const told: ToldOver = { given, fromStep, path, ...(wrote !== undefined && { wrote }), at: seenAt };
  await tx.epoch.update({ where, data: { passedOver: JSON.stringify(told) } });
  if (isSame) return [];
  const shown = { path: visibleText(path), wrote: wrote === undefined ? null : visibleText(wrote) };
  const text = `saw that the program of ${run} ${beganElsewhereWords({ given: given.step, from: fromStep, ...shown })}`;
  const line = { at: hub.now(), kind: "began-elsewhere" as const, work: "risk" as const, node, run, step: given.step };
  return [await recordEvent(tx, { ...line, text })];
}
