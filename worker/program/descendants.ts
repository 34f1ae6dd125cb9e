import { basename } from "node:path";
import { systemClock } from "../base/clock.ts";
import { readCommandLine, readProcess, signalProcess, type ProcessEntry } from "../host/list-processes.ts";
import { chooseTold, isReader, lookAtProcess } from "./choose-told.ts";
import { choosePrograms, seeProcesses, type LeftProcess } from "./find-orphans.ts";
import type { ProgramRecord } from "./program-record.ts";
import { becomeSubreaper } from "./subreaper.ts";
import type { OrphanPolicy } from "./settle-orphans.ts";

/**
 * All processes of a program: the one that we started, and what that one and its children started. They are ours to end: each
 * hears of a signal once, is waited for within the time that is left, and none is there when the worker ends. Where there is no
 * /proc, the first process is all that is known.
 */
export interface Descendants {
  /** Sends a signal to those that would not hear of it otherwise. */
  tell(signal: NodeJS.Signals): void;
  /** Sends KILL to all that are left. Returns them. */
  kill(): LeftProcess[];
  /** Resolves when nothing is left, or nothing more is done: true when nothing is. Called when the first process has ended. */
  settle(about: Settling): Promise<boolean>;
}

export interface Settling {
  /** It was asked to stop, so its processes were told. */
  isStopping(): boolean;
  policy: OrphanPolicy;
  /** Between TERM and KILL for what an end by itself left; what is left of a stop has the time until `signal`. */
  patienceMs: number;
  /** The time is over. */
  signal: AbortSignal;
  onLeft(left: readonly LeftProcess[], willEnd: boolean): void;
}

const LOOK_MS = 50;
/** After the end of the first process, for those that end with it. */
const LINGER_MS = 1_000;

const nameLeft = (all: readonly ProcessEntry[]): LeftProcess[] =>
  // As it was called: some runtimes give their first thread, which the system shows, a name of its own.
  all.map(({ pid }) => ({ pid, name: basename(readCommandLine(pid)[0] ?? "") })).filter(({ name }) => name !== "");

export function descendantsOf(record: Pick<ProgramRecord, "id" | "process">): Descendants {
  const reaper = becomeSubreaper();
  const find = () => {
    const adopted = reaper.adopted();
    return choosePrograms(seeProcesses(), { records: [record], folders: [], self: process.pid, adopted });
  };
  const keyOf = ({ pid, startedAt }: ProcessEntry): string => `${pid} ${startedAt}`;
  /** Those that were sent TERM. */
  const asked = new Set<string>();
  let isLeftToLauncher = false;
  const send = (one: ProcessEntry, signal: NodeJS.Signals) => {
    if (signal === "SIGTERM") asked.add(keyOf(one));
    signalProcess(one, signal);
  };
  const askRest = (all: readonly ProcessEntry[]) => {
    const seen = all.map((one) => lookAtProcess(one, "SIGTERM"));
    const here = new Set(all.map(({ pid }) => pid));
    const roots = all.filter(({ parent }) => !here.has(parent)).map(({ pid }) => pid);
    const told = chooseTold(seen, { roots, signal: "SIGTERM" });
    // A reader is told when nobody writes to it any more.
    for (const one of told) if (!asked.has(keyOf(one)) && !isReader(one, seen)) send(one, "SIGTERM");
  };
  return {
    tell: (signal) => {
      const leader = record.process;
      if (leader === null) return;
      const all = find();
      const isThere = readProcess(leader.pid)?.startedAt === leader.startedAt;
      const here = new Set(all.map(({ pid }) => pid));
      const roots = isThere ? [leader.pid] : all.filter(({ parent }) => !here.has(parent)).map(({ pid }) => pid);
      const seen = all.map((one) => lookAtProcess(one, signal));
      if (signal === "SIGTERM")
        isLeftToLauncher = isThere && seen.some(({ pid, catches }) => pid === leader.pid && catches);
      for (const one of chooseTold(seen, { roots, signal })) send(one, signal);
    },
    kill: () => {
      const left = nameLeft(find());
      // What one of them starts at this moment is found by the next look.
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
        if (isStopping()) {
          // One that passes signals on waits for its children. One that did not do both has half the time before they are told.
          if (!isLeftToLauncher || now - endedAt >= patienceMs / 2) askRest(all);
        } else if (toldAt === null && now - endedAt >= LINGER_MS) {
          toldAt = now;
          onLeft(nameLeft(all), policy === "end");
          if (policy !== "end") return false;
          for (const one of all) send(one, "SIGTERM");
        } else if (toldAt !== null && now - toldAt >= patienceMs) for (const one of all) signalProcess(one, "SIGKILL");
        await systemClock.sleep(LOOK_MS, signal).catch(() => undefined);
      }
      return true;
    },
  };
}
