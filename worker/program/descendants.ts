import { basename } from "node:path";
import { systemClock } from "../base/clock.ts";
import { readCommandLine, readProcess, signalProcess, type ProcessEntry } from "../host/list-processes.ts";
import { chooseHeldBack, chooseTold, isReader, lookAtProcess, type Tellable } from "./choose-told.ts";
import { choosePrograms, seeProcesses, type LeftProcess } from "./find-orphans.ts";
import { noticePassedOn } from "./notice-passed-on.ts";
import type { ProgramRecord } from "./program-record.ts";
import type { ProgramEnd } from "./program.ts";
import { createStopRecord } from "./stop-record.ts";
import { becomeSubreaper } from "./subreaper.ts";
import { shellsToHold, watchBelowShells } from "./watch-below-shells.ts";
import type { OrphanPolicy } from "./settle-orphans.ts";

/**
 * All processes of a program: the first process, which the worker started, and its descendants. The worker is responsible for
 * their end. Each gets a signal once, is waited for within the remaining time, and none survives the worker. Without /proc
 * only the first process is known.
 */
export interface Descendants {
  /** Sends a signal to the processes that would not get it otherwise. */
  tell(signal: NodeJS.Signals): void;
  /** Sends KILL to all processes that are left, and returns them. */
  kill(): LeftProcess[];
  /** Ends the rest after the first process has ended. Resolves to true when no process is left, to false when it gives up. */
  settle(about: Settling): Promise<boolean>;
  /** Tells whether all ended in an orderly way during a stop, although the first process may have died of the signal. */
  hasEndedInOrder(end: ProgramEnd): boolean;
}

export interface Settling {
  /** Tells whether the program was asked to stop, so that its processes have got a signal. */
  isStopping(): boolean;
  policy: OrphanPolicy;
  /** Time between TERM and KILL for processes left after the program's own exit; during a stop they have until `signal`. */
  patienceMs: number;
  /** Fires when the time is over. */
  signal: AbortSignal;
  onLeft(left: readonly LeftProcess[], willEnd: boolean): void;
}

const ASKS_TO_END: ReadonlySet<NodeJS.Signals> = new Set(["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"]);
const LOOK_MS = 50;
/** Time after the end of the first process for others to end by themselves. */
const LINGER_MS = 1_000;

const nameLeft = (all: readonly ProcessEntry[]): LeftProcess[] =>
  // By the command line, because some runtimes rename their first thread, whose name /proc shows.
  all.map(({ pid }) => ({ pid, name: basename(readCommandLine(pid)[0] ?? "") })).filter(({ name }) => name !== "");

/** Returns the processes whose parent is none of them. */
function withoutParent(all: readonly ProcessEntry[]): ProcessEntry[] {
  const here = new Set(all.map(({ pid }) => pid));
  return all.filter(({ parent }) => !here.has(parent));
}

const keyOf = ({ pid, startedAt }: ProcessEntry): string => `${pid} ${startedAt}`;

/**
 * Continues what was stopped (Ctrl-Z, SIGSTOP), but for `except`: until then a process takes no signal that asks it to end. All
 * get the signal, as from systemd, because /proc shows a process as running until it has acted on its SIGSTOP; CONT takes that
 * back too.
 */
function goOn(all: readonly ProcessEntry[], except: ReadonlySet<number>): void {
  for (const one of all) if (!except.has(one.pid)) signalProcess(one, "SIGCONT");
}

/** Returns the processes that a program started, with the means to end them. `patienceMs`: time that a stop has. */
export function descendantsOf(
  record: Pick<ProgramRecord, "id" | "process">,
  { patienceMs: graceMs }: { patienceMs: number },
): Descendants {
  const reaper = becomeSubreaper();
  const find = () => {
    const adopted = reaper.adopted();
    return choosePrograms(seeProcesses(record.process?.startedAt), {
      records: [record],
      folders: [],
      self: process.pid,
      adopted,
    });
  };
  /** Processes that got TERM, from the worker or from their shell, or that have a handler for the INT that they got. */
  const asked = new Set<string>();
  /** Processes that were sent TERM or INT by `tell`. */
  const toldToStop = new Set<string>();
  const stop = createStopRecord();
  /** Shells that are stopped until what trains below them has ended. */
  const stopped = new Set<number>();
  let isLeftToLauncher = false;
  /** Notes processes whose save a further signal would interrupt. */
  const noteAsked = (told: readonly Tellable[], all: readonly Tellable[], signal: NodeJS.Signals) => {
    stop.told(told, all, signal);
    for (const one of told) if (signal === "SIGTERM" || one.catches) asked.add(keyOf(one));
  };
  const sendOnce = (chosen: readonly Tellable[], all: readonly Tellable[]) => {
    const told = chosen.filter((one) => !asked.has(keyOf(one)));
    noteAsked(told, all, "SIGTERM");
    for (const one of told) signalProcess(one, "SIGTERM");
  };
  const askRest = (all: readonly ProcessEntry[]) => {
    const seen = all.map((one) => lookAtProcess(one, "SIGTERM"));
    const roots = withoutParent(all).map(({ pid }) => pid);
    const told = chooseTold(seen, { roots, signal: "SIGTERM" });
    // A reader of another process's output gets no signal while its writer runs.
    sendOnce(
      told.filter((one) => !isReader(one, seen)),
      seen,
    );
  };
  /** Sends TERM to what a shell has in its background, in case that its trap does not pass the signal on. */
  const askHeldBack = () => {
    const seen = find().map((one) => lookAtProcess(one, "SIGTERM"));
    sendOnce(chooseHeldBack(seen, { told: (one) => toldToStop.has(keyOf(one)), signal: "SIGTERM" }), seen);
  };
  return {
    tell: (signal) => {
      const leader = record.process;
      if (leader === null) return;
      const all = find();
      const isThere = readProcess(leader.pid)?.startedAt === leader.startedAt;
      const roots = isThere ? [leader.pid] : withoutParent(all).map(({ pid }) => pid);
      const seen = all.map((one) => lookAtProcess(one, signal));
      if (signal === "SIGTERM")
        isLeftToLauncher = isThere && seen.some(({ pid, catches }) => pid === leader.pid && catches);
      const told = chooseTold(seen, { roots, signal });
      if (signal === "SIGTERM" || signal === "SIGINT") {
        // The reaper keeps a listener once, however often it is given.
        reaper.onEnded(stop.ended);
        noteAsked(told, seen, signal);
        for (const one of told) toldToStop.add(keyOf(one));
        setTimeout(askHeldBack, graceMs / 2).unref();
      }
      const held = signal === "SIGTERM" ? chooseHeldBack(seen, { told: (one) => told.includes(one), signal }) : [];
      const shells = signal === "SIGTERM" && !reaper.isAdopting ? shellsToHold(told) : [];
      for (const { shell } of shells) stopped.add(shell.pid);
      const sendAll = () => {
        for (const one of told) signalProcess(one, signal);
        if (ASKS_TO_END.has(signal)) goOn(all, new Set([...stopped, ...held.map(({ pid }) => pid)]));
      };
      const onPassedOn = (one: Tellable) => noteAsked([one], seen, signal);
      const send = () =>
        held.length === 0 ? sendAll() : void noticePassedOn({ held, signal, tell: sendAll, onPassedOn });
      if (shells.length === 0) send();
      else void watchBelowShells(shells, { tell: send, ended: stop.ended });
    },
    hasEndedInOrder: (end) => {
      // One that ended after the last look at it has not been reaped, and its status is not known yet.
      reaper.adopted();
      return stop.isOrderly({ pid: record.process?.pid ?? 0, end });
    },
    kill: () => {
      // A shell that is stopped until its training has ended does not stay by itself.
      const left = nameLeft(find().filter(({ pid }) => !stopped.has(pid)));
      if (left.length > 0) stop.killed();
      // Repeats, because a process may start another one at this moment.
      for (let tries = 0, all = find(); tries < 5 && all.length > 0; tries++, all = find())
        for (const one of all) signalProcess(one, "SIGKILL");
      return left;
    },
    settle: async ({ isStopping, policy, patienceMs, signal, onLeft }) => {
      const endedAt = systemClock.now();
      let toldAt: number | null = null;
      for (let all = find(); all.length > 0; all = find()) {
        if (signal.aborted) return false;
        const now = systemClock.now();
        for (const { pid } of withoutParent(all)) stop.orphaned(pid);
        if (isStopping()) {
          // A launcher that handles TERM passes it on and waits for its children. After half the time they get TERM directly.
          if (!isLeftToLauncher || now - endedAt >= patienceMs / 2) askRest(all);
        } else if (toldAt === null && now - endedAt >= LINGER_MS) {
          toldAt = now;
          onLeft(nameLeft(all), policy === "end");
          if (policy !== "end") return false;
          for (const one of all) {
            asked.add(keyOf(one));
            signalProcess(one, "SIGTERM");
          }
          goOn(all, stopped);
        } else if (toldAt !== null && now - toldAt >= patienceMs) for (const one of all) signalProcess(one, "SIGKILL");
        await systemClock.sleep(LOOK_MS, signal).catch(() => undefined);
      }
      return true;
    },
  };
}
