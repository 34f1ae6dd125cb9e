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
  /** Forgets the program when it ended well, or nothing of it is left. What else it left is ended by the watchdog, or by the next start. */
  finish(end: ProgramEnd & { isGone: boolean }): Promise<void>;
}

export interface Guarded {
  command: readonly string[];
  /** Of the program, for people: `command` may begin with what starts it. */
  name: string;
  options: ProgramOptions;
  policy: OrphanPolicy;
  /** Between TERM and KILL. */
  patienceMs: number;
  /** Called in the moment before the program is started. */
  onStart(): void;
}

/** For what its parents leave to this process. Of one that is left and loses its worker within this time nobody knows. */
const LOOK_EVERY_MS = 250;

/**
 * Starts a program so that it is never left alone: written down first, with a mark that all its processes carry, and, when it
 * is to end with its worker, watched. A record that cannot be written (a full disk) keeps nobody from training.
 */
export async function startGuarded(
  { state, options, narrator }: Pick<Agent, "state" | "options" | "narrator">,
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
  await writeProgramRecord(state, record).catch(narrator.waitingFor);
  becomeSubreaper();
  const watchdog = policy === "end" ? startWatchdog(record.id, patienceMs) : null;
  guarded.onStart();
  const env = { ...guarded.options.env, [MARK]: markOf(record) };
  const program = startProgram(command, { ...guarded.options, env });
  const started = program.pid === null ? null : readProcess(program.pid);
  const known: Pick<ProgramRecord, "id" | "process"> = { id: record.id, process: null };
  if (started !== null) {
    const session = guarded.options.hasOwnSession ? started.pid : null;
    watchdog?.watch({ pid: started.pid, session });
    const now = { pid: started.pid, startedAt: started.startedAt, session };
    known.process = now;
    await writeProgramRecord(state, { ...record, process: now }).catch(narrator.waitingFor);
  }
  const descendants = descendantsOf(known);
  const reaper = becomeSubreaper();
  let told = "[]";
  const look = setInterval(() => {
    // Read each time: what has ended of them is waited for.
    const adopted = reaper.adopted();
    if (adopted.length === 0 && told === "[]") return;
    const own = readProcess(process.pid)?.session;
    const others: OtherProcess[] = adopted.flatMap((pid) => {
      const one = readProcess(pid);
      // All of a terminal are in one session, whoever started them.
      return one === null ? [] : { pid, startedAt: one.startedAt, session: one.session === own ? null : one.session };
    });
    const now = JSON.stringify(others);
    if (now === told) return;
    told = now;
    watchdog?.watchOthers(others);
    writeProgramRecord(state, { ...record, process: known.process, others }).catch(narrator.waitingFor);
  }, LOOK_EVERY_MS);
  look.unref();
  return {
    ...program,
    descendants,
    // Where nothing is known of processes, the one that we started.
    send: (signal) => (known.process === null ? program.send(signal) : descendants.tell(signal)),
    finish: async ({ code, isGone }) => {
      clearInterval(look);
      if (code !== 0 && !isGone) return;
      watchdog?.over();
      await removeProgramRecord(state, record.id).catch(narrator.waitingFor);
    },
  };
}
