import { stepText } from "#protocol/checkpoint/step-words.ts";
import { sentenceOf, type FaultData } from "#protocol/faults/fault.ts";
import { mayBecome, type CheckpointState } from "#protocol/checkpoint/checkpoint.ts";
import { isEnded, type TransferState } from "#protocol/wire/transfer.ts";
import { formatBytes, formatDuration } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { EventKind } from "#protocol/base/event-kinds.ts";
import type { WorkState } from "#protocol/wire/risk.ts";
import type { Transfer } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { countUp } from "#server/platform/counters.ts";
import { recordEvent } from "../events/record-event.ts";
import { isHomeOf } from "../profiles/homes-of.ts";
import { recordTransferLink } from "../history/record-link.ts";
import type { OnTransferEnded, RecordScope, TransferEnded } from "./record-scope.ts";
import { placeOf } from "./place-of.ts";
import { transferRowOf } from "../live/transfer-row.ts";

const storedText = (fault: FaultData | null): string | null => (fault === null ? null : JSON.stringify(fault));

/** State of a checkpoint after an upload that did not complete it. */
const CHECKPOINT_AFTER: Partial<Record<TransferEnded["state"], CheckpointState>> = {
  failed: "torn",
  cancelled: "torn",
  superseded: "superseded",
};

async function settleCheckpoint({ tx, node }: RecordScope, event: TransferEnded): Promise<void> {
  const next = CHECKPOINT_AFTER[event.state];
  if (event.direction !== "upload" || next === undefined) return;
  const checkpoint = await tx.checkpoint.findUnique({ where: { id: event.checkpointId } });
  if (checkpoint === null || checkpoint.nodeId !== node.id) return;
  if (!mayBecome(checkpoint.state as CheckpointState, next)) return;
  await tx.checkpoint.update({ where: { id: checkpoint.id }, data: { state: next } });
}

/** Returns the event for the end of a transfer. Null: another event reports it (a safe checkpoint), or it is not worth one. */
function newsOf(event: TransferEnded, doubt: string | null): { kind: EventKind; work: WorkState; text: string } | null {
  const what = `${stepText(event.step)} of ${event.run}`;
  const why = event.fault === null ? "" : `: ${sentenceOf(event.fault)}`;
  if (event.direction === "upload") {
    return event.state === "failed"
      ? { kind: "upload-failed", work: "risk", text: `could not upload ${what}${why}` }
      : null;
  }
  if (event.direction === "copy") {
    return event.state === "failed"
      ? { kind: "upload-failed", work: "risk", text: `could not copy ${what}${why}` }
      : null;
  }
  if (event.direction !== "download") return checkNewsOf(event);
  if (event.state === "done") {
    const took = formatDuration(Math.max(0, event.at - event.startedAt));
    const text = `restored ${what} (${formatBytes(event.bytes)} in ${took})`;
    return doubt === null
      ? { kind: "restore-done", work: "safe", text }
      : { kind: "restore-done", work: "risk", text: `${text}, which may not be whole: ${visibleText(doubt)}` };
  }
  return event.state === "failed"
    ? { kind: "restore-failed", work: "risk", text: `could not restore ${what}${why}` }
    : null;
}

/** Returns the event for the end of a verification; damage has an event of its own. */
function checkNewsOf(event: TransferEnded): ReturnType<typeof newsOf> {
  const what = `${stepText(event.step)} of ${event.run}`;
  if (event.damage !== undefined) return null;
  const amount = event.bytes === 0 ? "" : ` (${formatBytes(event.bytes)})`;
  if (event.state === "done") {
    const text =
      event.direction === "drill"
        ? `restored ${what} for practice, every byte right, and removed it${amount}`
        : `read ${what} back and found every byte right${amount}`;
    return { kind: "checkpoint-verified", work: "safe", text };
  }
  if (event.state !== "failed") return null;
  const why = event.fault === null ? "" : `: ${sentenceOf(event.fault)}`;
  const tried = event.direction === "drill" ? `rehearse a restore of ${what}` : `read ${what} back`;
  return { kind: "check-failed", work: "risk", text: `could not ${tried}${why}` };
}

/**
 * Returns whether this end was reported before: a node killed before it could delete the event sends it again, under another
 * number.
 */
const isSameEnd = (before: Transfer, event: TransferEnded): boolean =>
  before.state === event.state &&
  before.retries === event.retries &&
  Number(before.sentBytes) === event.sentBytes &&
  before.fault === storedText(event.fault);

/**
 * Returns whether the failure is already known. A node retries a refused upload again and again, so only the first failure
 * and a new reason make an event.
 */
async function wasTold(tx: Transaction, event: TransferEnded, nodeId: string): Promise<boolean> {
  if (event.direction !== "upload" || event.state !== "failed" || event.fault === null) return false;
  const { run, fault } = event;
  const last = await tx.event.findFirst({
    where: { nodeId, run, step: BigInt(event.step), kind: "upload-failed" },
    orderBy: { id: "desc" },
    select: { fault: true },
  });
  if (last?.fault == null) return false;
  const told: unknown = JSON.parse(last.fault);
  return typeof told === "object" && told !== null && Reflect.get(told, "code") === fault.code;
}

/** Returns the home that a node reports as the other end; null without one, or if the run does not have it. */
async function homeElsewhere(tx: Transaction, { profileId, run }: TransferEnded) {
  if (profileId === undefined || !(await isHomeOf(tx, run, profileId))) return null;
  return tx.profile.findUnique({ where: { id: profileId } });
}

/**
 * Records the end of a transfer and calls `followers`. A transfer that has ended already stays as it was. An id that belongs
 * to another node is ignored.
 */
export async function endTransfer(
  scope: RecordScope,
  event: TransferEnded,
  followers: readonly OnTransferEnded[],
): Promise<void> {
  const { tx, hub, node, recorded } = scope;
  const now = hub.now();
  const before = await tx.transfer.findUnique({ where: { id: event.transferId } });
  if (before !== null && before.nodeId !== node.id) {
    // A refusal would block the node's outbox.
    hub.log.warn({ node: node.id, transfer: event.transferId }, "a node reported the end of another node's transfer");
    return;
  }
  if (before !== null && isEnded(before.state as TransferState) && before.state !== "failed") return;
  const isRepeated = before !== null && isSameEnd(before, event);
  // The node's clock may be wrong, but the duration between its times is right.
  const startedAt = new Date(now - Math.max(0, event.at - event.startedAt));
  const ended = {
    state: event.state,
    sentBytes: BigInt(event.sentBytes),
    retries: event.retries,
    connections: event.connections,
    fault: storedText(event.fault),
    startedAt,
    endedAt: new Date(now),
    ...(event.state === "done"
      ? {
          bytesDone: BigInt(event.bytes),
          bytesTotal: BigInt(event.bytes),
          filesDone: event.files,
          filesTotal: event.files,
        }
      : {}),
  };
  const live = hub.live.transfers.get(event.transferId)?.row;
  const progress =
    live === undefined || event.state === "done"
      ? {}
      : { bytesDone: BigInt(live.bytesDone), filesDone: live.filesDone };
  const checkpoint = await tx.checkpoint.findUnique({ where: { id: event.checkpointId } });
  const elsewhere = await homeElsewhere(tx, event);
  // An upload may end before its checkpoint was announced.
  const home = elsewhere ?? checkpoint ?? (await tx.profile.findUniqueOrThrow({ where: { id: node.profileId } }));
  const row = await tx.transfer.upsert({
    where: { id: event.transferId },
    update: { ...progress, ...ended },
    create: {
      id: event.transferId,
      nodeId: node.id,
      direction: event.direction,
      checkpointId: event.checkpointId,
      run: event.run,
      step: BigInt(event.step),
      bucket: home.bucket,
      place: placeOf(home, event),
      bytesDone: 0n,
      bytesTotal: BigInt(event.bytes),
      filesDone: 0,
      filesTotal: event.files,
      startedBy: event.startedBy,
      createdAt: startedAt,
      ...ended,
    },
  });
  await settleCheckpoint(scope, event);
  for (const follow of followers) await follow(scope, event, checkpoint);
  if (!isRepeated) {
    const { uploads, restores, checks, transferBytes } = hub.counters;
    const counts = { upload: uploads, copy: uploads, download: restores, verify: checks, drill: checks }[
      event.direction
    ];
    countUp(counts, event.state);
    countUp(transferBytes, event.direction, event.sentBytes);
    await recordTransferLink(scope, event, elsewhere?.id ?? checkpoint?.profileId ?? node.profileId);
  }
  const isNews = before === null || !(isRepeated || (await wasTold(tx, event, node.id)));
  const news = isNews ? newsOf(event, checkpoint?.doubt ?? null) : null;
  if (news !== null) {
    const line = { at: now, node, run: event.run, step: event.step, fault: event.fault };
    recorded.events.push(await recordEvent(tx, { ...line, ...news }));
  }
  const shown = { ...transferRowOf(row, node.name), ...(live === undefined ? {} : { pieces: live.pieces }) };
  recorded.transfers.push({ row: shown, endedAtNode: event.at });
}
