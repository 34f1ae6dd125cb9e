import type { Capture } from "../capture/capture.ts";
import type { Ledger } from "../capture/ledger.ts";
import { closeOne, isOpen } from "../capture/open-captures.ts";
import type { CommitVerdict } from "./commit-late.ts";

/**
 * Returns whether a capture whose bytes are sent can be committed. A capture that may get more files waits, until its time is over
 * or the machine will be gone; what is named like a part is then doubtful.
 */
export async function judgeCommit(
  item: Capture,
  { ledger, wallNow, isDraining }: { ledger: Pick<Ledger, "update">; wallNow: number; isDraining: boolean },
): Promise<CommitVerdict> {
  if (item.replacedBy !== undefined) return "drop";
  if (!isOpen(item)) return "commit";
  if (!isDraining && wallNow < (item.open?.until ?? 0)) return "wait";
  // On a full disk it counts in memory, and is written with the next record.
  await closeOne(ledger, item, isDraining ? "crashed" : "done").catch(() => undefined);
  return "commit";
}
