import * as z from "zod";
import { faultData } from "#protocol/faults/fault-data.ts";
import { anyEpoch, attemptId, id, step, writerEpoch } from "#protocol/base/names.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { openJournal } from "../base/journal.ts";
import { capture, type Capture } from "../capture/capture.ts";

/**
 * Copies of safe checkpoints that replicas still lack, one item per checkpoint and bucket. Items stay on disk, with the
 * captured files, until the copies are made.
 */
const copyItem = z.object({
  /**
   * Capture as it goes to that bucket, with a transfer, an attempt and a home of its own. Its `id` is that of the checkpoint.
   */
  capture,
  /** Claim under which the checkpoint was committed. */
  claim: z.object({ epoch: writerEpoch, parent: z.object({ epoch: anyEpoch, step }).nullable() }),
  takenAt: z.number(),
  isPaused: z.boolean(),
  fault: faultData.nullable(),
});
export type CopyItem = z.infer<typeof copyItem>;

const line = z.discriminatedUnion("t", [
  z.object({ t: z.literal("take"), item: copyItem }),
  z.object({ t: z.literal("attempt"), id, attempt: attemptId }),
  z.object({ t: z.literal("pause"), id, isPaused: z.boolean() }),
  z.object({ t: z.literal("counts"), id, sentBytes: z.number(), retries: z.number() }),
  z.object({ t: z.literal("drop"), id }),
]);
type Line = z.infer<typeof line>;

export interface CopyLedger {
  all(): readonly CopyItem[];
  has(checkpointId: string, profileId: string): boolean;
  /** Adds items; they are on disk when it resolves. */
  take(items: readonly CopyItem[]): Promise<void>;
  setAttempt(item: CopyItem, attempt: Capture["attempt"]): Promise<void>;
  setPaused(item: CopyItem, isPaused: boolean): Promise<void>;
  count(item: CopyItem, counts: { sentBytes: number; retries: number }): Promise<void>;
  /** Forgets an item, and removes the captured files when no other item needs them. */
  drop(item: CopyItem): Promise<void>;
  close(): Promise<void>;
}

export async function openCopyLedger(path: string): Promise<CopyLedger> {
  const journal = await openJournal(path, line);
  const items = new Map<string, CopyItem>();
  const apply = (record: Line) => {
    if (record.t === "take") {
      items.set(record.item.capture.transferId, structuredClone(record.item));
      return;
    }
    const item = items.get(record.id);
    if (item === undefined) return;
    if (record.t === "drop") items.delete(record.id);
    else if (record.t === "pause") item.isPaused = record.isPaused;
    else if (record.t === "attempt") item.capture.attempt = record.attempt;
    else Object.assign(item.capture, { sentBytes: record.sentBytes, retries: record.retries });
  };
  for (const record of journal.takeRecords()) apply(record);
  await journal.compact(() => [...items.values()].map((item): Line => ({ t: "take", item })));
  const write = async (record: Line) => {
    await journal.append(record);
    apply(record);
  };
  return {
    all: () => [...items.values()],
    has: (checkpointId, profileId) =>
      items.values().some((item) => item.capture.id === checkpointId && item.capture.home === profileId),
    take: async (taken) => {
      for (const item of taken) await write({ t: "take", item });
    },
    setAttempt: ({ capture: { transferId } }, attempt) => write({ t: "attempt", id: transferId, attempt }),
    setPaused: ({ capture: { transferId } }, isPaused) => write({ t: "pause", id: transferId, isPaused }),
    count: ({ capture: { transferId } }, counts) => write({ t: "counts", id: transferId, ...counts }),
    drop: async ({ capture: { transferId, folder } }) => {
      await write({ t: "drop", id: transferId });
      const isNeeded = items.values().some((other) => other.capture.folder === folder);
      if (!isNeeded) await removeOwned("capture", folder);
    },
    close: journal.close,
  };
}
