import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { diskFault } from "../engine/disk-fault.ts";
import { lockAt } from "../host/lock.ts";
import { journalOf, type Bench, type Journal } from "./bench.ts";
import type { Verb } from "./verb.ts";

/**
 * Runs a copy with its journal. Two processes that make the same copy would tear each other's journal and temporary
 * files, so the second one ends at once.
 * Faults: COPY_RUNNING, FOLDER_UNWRITABLE, those of `work`.
 */
export async function withJournal<T>(
  verb: Verb,
  about: { bench: Bench; name: string; shown: string },
  work: (journal: Journal) => Promise<T>,
): Promise<T> {
  const journal = await journalOf(verb, about.bench, about.name);
  const { journalPath } = journal;
  const folder = dirname(journalPath);
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw diskFault(error, { op: "journal", subject: folder, otherwise: "FOLDER_UNWRITABLE" });
  });
  const unlock = await lockAt(`${journalPath}.lock`, { code: "COPY_RUNNING", op: "cp", subject: about.shown });
  try {
    return await work(journal);
  } finally {
    await unlock();
  }
}
