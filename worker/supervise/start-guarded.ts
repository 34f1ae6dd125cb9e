import { randomUUID } from "node:crypto";
import { basename } from "node:path";
import type { Agent } from "../agent/agent-assemble.ts";
import { namespaceOf } from "../host/lock.ts";
import { readProcess } from "../host/list-processes.ts";
import { startWatchdog } from "../program/end-with-worker.ts";
import { startProgram, type Program, type ProgramEnd, type ProgramOptions } from "../program/program.ts";
import { descendantsOf, type Descendants } from "../program/descendants.ts";
import {
  folderKey,
  MARK,
  markOf,
  removeProgramRecord,
  writeProgramRecord,
  type OtherProcess,
  type ProgramRecord,
} from "../program/program-record.ts";
import { becomeSubreaper } from "../program/subreaper.ts";
import type { OrphanPolicy } from "../program/settle-orphans.ts";

export interface GuardedProgram extends Program {
  readonly descendants: Descendants;
  /** Removes the record after a success, or when no process is left; else the watchdog or the next start ends the rest. */
  finish(end: ProgramEnd & { isGone: boolean }): Promise<void>;
}

export interface Guarded {
  command: readonly string[];
  /** Name of the program for messages; `command` may begin with setpriv. */
  name: string;
  options: ProgramOptions;
  policy: OrphanPolicy;
  /** Time between TERM and KILL. */
  patienceMs: number;
  /** Called immediately before the program is started. */
  onStart(): void;
}

/** Interval of looking for adopted processes. If the worker is killed within it, newly adopted processes stay unknown. */
const LOOK_EVERY_MS = 250;

/**
 * Starts a program so that its processes can always be found and ended. A record is written first, its processes have a mark
 * in their environment, and a watchdog runs if the program is to end with its worker. A failure to write the record, as on a
 * full disk, does not prevent training. @throws Fault PROGRAM_NOT_FOUND, PROGRAM_NOT_EXECUTABLE
 */
export async function startGuarded(
  { state, options, reporter }: Pick<Agent, "state" | "options" | "reporter">,
  guarded: Guarded,
): Promise<GuardedProgram> {
  const { command, policy, patienceMs } = guarded;
  const record: ProgramRecord = {
    id: randomUUID(),
    place: await namespaceOf(),
    folders: options.watches.map(({ folder }) => folderKey(folder)),
    name: basename(guarded.name),
    process: null,
  };
  await writeProgramRecord(state, record).catch(reporter.waitingFor);
  becomeSubreaper();
  const watchdog = policy === "end" ? startWatchdog(record.id, patienceMs) : null;
  guarded.onStart();
  const env = { ...guarded.options.env, [MARK]: markOf(record) };
  let program: Program;
  try {
    program = startProgram(command, { ...guarded.options, env });
    // Throws the reason.
    if (program.pid === null) await program.ended;
  } catch (error) {
    watchdog?.over();
    await removeProgramRecord(state, record.id).catch(reporter.waitingFor);
    throw error;
  }
  const started = program.pid === null ? null : readProcess(program.pid);
  const known: Pick<ProgramRecord, "id" | "process"> = { id: record.id, process: null };
  if (started !== null) {
    const session = guarded.options.hasOwnSession ? started.pid : null;
    watchdog?.watch({ pid: started.pid, session });
    const now = { pid: started.pid, startedAt: started.startedAt, session };
    known.process = now;
    await writeProgramRecord(state, { ...record, process: now }).catch(reporter.waitingFor);
  }
  const descendants = descendantsOf(known, { patienceMs });
  const reaper = becomeSubreaper();
  let told = "[]";
  const look = setInterval(() => {
    // Called at every tick, because it also reaps ended processes.
    const adopted = reaper.adopted();
    if (adopted.length === 0 && told === "[]") return;
    const own = readProcess(process.pid)?.session;
    const others: OtherProcess[] = adopted.flatMap((pid) => {
      const one = readProcess(pid);
      // The worker's own session is not recorded, because it contains unrelated processes of the terminal.
      return one === null ? [] : { pid, startedAt: one.startedAt, session: one.session === own ? null : one.session };
    });
    const now = JSON.stringify(others);
    if (now === told) return;
    told = now;
    watchdog?.watchOthers(others);
    writeProgramRecord(state, { ...record, process: known.process, others }).catch(reporter.waitingFor);
  }, LOOK_EVERY_MS);
  look.unref();
  return {
    ...program,
    descendants,
    // Without /proc, only the first process can be signaled.
    send: (signal) => (known.process === null ? program.send(signal) : descendants.tell(signal)),
    finish: async ({ code, isGone }) => {
      clearInterval(look);
      if (code !== 0 && !isGone) return;
      watchdog?.over();
      await removeProgramRecord(state, record.id).catch(reporter.waitingFor);
    },
  };
}
