import { stepTitle } from "#protocol/checkpoint/step-words.ts";
import { protectedBy, reasonWords } from "#protocol/retention/decide-keeping.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { USUAL_TRASH_MS } from "#protocol/retention/keeping.ts";
import { runName } from "#protocol/base/names.ts";
import { formatBytes } from "#protocol/base/units.ts";
import { isAdoptedRow } from "#server/core/runs/is-adopted.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { completeCopies } from "#server/core/profiles/homes-of.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { findCheckpointRow, nameOf, withCheckpoint, writeRecord } from "./write-retention-record.ts";
import { readHistory } from "./read-history.ts";
import { readRecords } from "#server/core/retention/read-record.ts";
import { policyFor } from "./stored-policy.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

export interface TrashRequest {
  id: string;
  /** The requester: the hub itself, or a person. */
  who: "hub" | PersonCaller;
  /** Reason, for people. */
  why: string;
  trashMs: number;
}

/**
 * Moves one complete checkpoint to the trash. First reads the retention records in the buckets that this hub does not know: a
 * pin that was lost here still holds. Returns whether it was moved now.
 * @throws Fault NOT_FOUND, CHECKPOINT_INCOMPLETE, CHECKPOINT_KEPT, those of the store
 */
export async function moveToTrash(hub: Hub, { id, who, why, trashMs }: TrashRequest): Promise<boolean> {
  return withCheckpoint(hub, id, async (known) => {
    const subject = nameOf(known);
    if (known.state === "trashed") return false;
    if (known.state !== "complete") throw new Fault("CHECKPOINT_INCOMPLETE", { subject });
    if (isAdoptedRow(known)) {
      throw new Fault("CHECKPOINT_KEPT", { subject, detail: "another tool wrote it: release it instead" });
    }
    const run = runName.parse(known.run);
    for (const { profileId, bucket, prefix } of await completeCopies(hub.db, known)) {
      await readRecords(hub, await hub.stores.open(profileId), { run, checkpointId: id, bucket, prefix });
    }
    const checkpoint = await findCheckpointRow(hub, id);
    if (checkpoint.state === "trashed") return false;
    const [reason] = protectedBy(await readHistory(hub.db, run)).get(id) ?? [];
    if (reason !== undefined) throw new Fault("CHECKPOINT_KEPT", { subject, detail: reasonWords(reason) });
    const at = hub.now();
    const word = { word: { kind: "trash" as const, until: at + trashMs, why }, ends: [] };
    const by = who === "hub" ? "hub" : who.person.email;
    const event = await writeRecord(hub, { checkpoint, by, word, at }, async (tx) => {
      if (who !== "hub") {
        const entry = { action: "checkpoint trash", subject, subjectId: id };
        await audit({ db: tx, now: hub.now }, who, entry);
      }
      const size = formatBytes(Number(checkpoint.sizeBytes));
      const text = `${stepTitle(Number(checkpoint.step))} of ${run} (${size}) was moved to the trash: ${why}`;
      const line = { at, kind: "checkpoint-trashed" as const, work: "safe" as const, run, text };
      return recordEvent(tx, { ...line, step: Number(checkpoint.step) });
    });
    countComplete(hub, -1);
    emit(hub, event, ["checkpoints", "runs"]);
    return true;
  });
}

/** Adjusts the shown number of complete checkpoints until it is counted again. */
export function countComplete(hub: Hub, by: number): void {
  const { totals } = hub.live;
  hub.live.totals = { ...totals, checkpointsComplete: Math.max(0, totals.checkpointsComplete + by) };
}

/** Moves a checkpoint to the trash for a person. @throws Fault those of `moveToTrash` */
export async function trash(
  { hub, caller }: Context & { caller: PersonCaller },
  { id }: { id: string },
): Promise<{ isMoved: boolean }> {
  const { run } = await findCheckpointRow(hub, id);
  const trashMs = (await policyFor(hub.db, run))?.trashMs ?? USUAL_TRASH_MS;
  return { isMoved: await moveToTrash(hub, { id, who: caller, why: `by ${caller.person.email}`, trashMs }) };
}
