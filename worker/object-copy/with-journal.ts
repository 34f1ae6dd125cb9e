import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { diskFault } from "../base/disk-fault.ts";
import { lockAt } from "../host/lock.ts";
import { journalOf, type StoreSession, type Journal } from "../store-session/store-session.ts";
import type { CommandContext } from "../command-line/command-context.ts";

/**
 * Runs a copy with its journal and a lock. Two processes that make the same copy would corrupt each other's journal and
 * temporary files, so the second one ends at once.
 * @throws Fault COPY_RUNNING, FOLDER_UNWRITABLE, those of `work`
 */
export async function withJournal<T>(
  context: CommandContext,
  about: { storeSession: StoreSession; name: string; shown: string },
  work: (journal: Journal) => Promise<T>,
): Promise<T> {
  const journal = await journalOf(context, about.storeSession, about.name);
  const { journalPath } = journal;
  const folder = dirname(journalPath);
  // When only the journal's disk is full, tell the user to move the state, because the target may have space.
  const named = (error: unknown): unknown => {
    const isOurs = isFault(error) && error.code === "NO_SPACE" && error.context.subject?.startsWith(folder) === true;
    if (!isOurs || error.context.detail !== undefined) return error;
    const detail = "what a copy has to remember lies there; name another folder with --state DIR or TIDEMARK_STATE";
    return new Fault("NO_SPACE", { ...error.context, detail });
  };
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw named(diskFault(error, { op: "journal", subject: folder, otherwise: "FOLDER_UNWRITABLE" }));
  });
  const unlock = await lockAt(`${journalPath}.lock`, { code: "COPY_RUNNING", op: "cp", subject: about.shown });
  try {
    return await work(journal);
  } catch (error) {
    throw named(error);
  } finally {
    await unlock();
  }
}
