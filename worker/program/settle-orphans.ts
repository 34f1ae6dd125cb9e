import { Fault } from "#protocol/faults/fault.ts";
import { systemClock } from "../base/clock.ts";
import { listProcesses, readCommandLine, signalProcess } from "../host/list-processes.ts";
import { isWatchdogOf } from "./end-with-worker.ts";
import { choosePrograms, seeProcesses, type SeenProcess } from "./find-orphans.ts";
import type { OrphanReporter } from "./tell-orphans.ts";
import { folderKey, readProgramRecords, removeProgramRecord, type ProgramRecord } from "./program-record.ts";

/**
 * Treatment of a program that a killed worker left behind (`--orphan`). Two programs that write one run destroy it, so a
 * start ends the earlier program, waits for its end, or refuses to start.
 */
export type OrphanPolicy = "end" | "wait" | "refuse";

export const ORPHAN_POLICIES = ["end", "wait", "refuse"] as const satisfies readonly OrphanPolicy[];

export interface Orphans {
  /** Records of programs in this state folder. */
  records: readonly ProgramRecord[];
  folders: readonly string[];
  /** Their running processes. */
  processes: readonly SeenProcess[];
}

const LOOK_MS = 100;
const WAIT_LOOK_MS = 1_000;
/** Time to wait after KILL; a process that remains then is stuck in the kernel. */
const KILL_MS = 10_000;

/** Returns the programs that earlier starts left, and removes records of ended ones. @throws Fault READ_FAILED */
export async function findOrphans(state: string, watched: readonly string[]): Promise<Orphans> {
  const folders = watched.map(folderKey);
  const records = await readProgramRecords(state);
  const processes = look({ records, folders });
  if (processes.length === 0) for (const { id } of records) await removeProgramRecord(state, id);
  return { records: processes.length === 0 ? [] : records, folders, processes };
}

const look = ({ records, folders }: Pick<Orphans, "records" | "folders">): SeenProcess[] =>
  choosePrograms(seeProcesses(), { records, folders, self: process.pid });

export const orphanFault = (orphans: Orphans): Fault =>
  new Fault("PROGRAM_RUNS_STILL", {
    op: "run",
    subject: nameOf(orphans),
    detail: `process ${orphans.processes.map(({ pid }) => pid).join(", ")}`,
  });

export const nameOf = ({ records }: Orphans): string => records[0]?.name ?? "a program of another state folder";

/**
 * Ends orphans: sends TERM, and KILL after the patience. TERM is not sent if a watchdog has sent it already, because some
 * programs abort at a second one. @throws Fault PROGRAM_RUNS_STILL, CANCELLED
 */
export async function endOrphans(
  orphans: Orphans,
  about: { patienceMs: number; reporter: OrphanReporter; signal: AbortSignal },
): Promise<void> {
  const { patienceMs, reporter, signal } = about;
  if (orphans.processes.length === 0) return;
  const name = nameOf(orphans);
  const pids = orphans.processes.map(({ pid }) => pid);
  reporter.orphanFound({ name, pids, policy: "end", patienceMs });
  if (!isEndedAlready(orphans)) for (const one of orphans.processes) signalProcess(one, "SIGTERM");
  const killsAt = systemClock.now() + patienceMs;
  let how: "ended" | "killed" = "ended";
  for (let left = look(orphans); left.length > 0; left = look(orphans)) {
    const lateMs = systemClock.now() - killsAt;
    if (lateMs > KILL_MS) throw orphanFault({ ...orphans, processes: left });
    if (lateMs >= 0) {
      how = "killed";
      for (const one of left) signalProcess(one, "SIGKILL");
    }
    await systemClock.sleep(LOOK_MS, signal);
  }
  reporter.orphanOver({ name, how });
}

/** Resolves when all orphans have ended. @throws Fault CANCELLED */
export async function waitForOrphans(
  orphans: Orphans,
  about: { reporter: OrphanReporter; signal: AbortSignal },
): Promise<void> {
  while (look(orphans).length > 0) await systemClock.sleep(WAIT_LOOK_MS, about.signal);
  about.reporter.orphanOver({ name: nameOf(orphans), how: "ended" });
}

function isEndedAlready({ records }: Orphans): boolean {
  const lines = listProcesses().map(({ pid }) => readCommandLine(pid));
  return records.some(({ id }) => lines.some((words) => isWatchdogOf(words, id)));
}
