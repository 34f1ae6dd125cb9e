import { isReader, isShell, type Tellable } from "./choose-told.ts";
import type { ProgramEnd } from "./program.ts";
import type { AdoptedEnd } from "./subreaper.ts";

/**
 * Records how the processes of a program end during a stop. A shell dies of the signal while the training below it has a
 * handler, saves and ends with 0; the end of the shell then says nothing about what was saved last.
 */
export interface StopRecord {
  /** Records the processes of `all` that got a signal from the worker. */
  told(chosen: readonly Tellable[], all: readonly Tellable[], signal: NodeJS.Signals): void;
  ended(end: AdoptedEnd): void;
  /** Records a process that outlived its parent, which therefore did not see how it ended. */
  orphaned(pid: number): void;
  killed(): void;
  /**
   * Tells whether all processes ended by themselves in an orderly way: none was killed, each that is neither a shell nor a mere
   * reader had a handler, and no known exit status is another one than 0. An unknown status does no harm where the parent
   * of the process was there to see it. After SIGINT the status has to be known, because every Python program has a handler
   * for it, which interrupts a save that is under way.
   */
  isOrderly(leader: { pid: number; end: ProgramEnd }): boolean;
}

export function createStopRecord(): StopRecord {
  const training = new Map<number, { catches: boolean; signal: NodeJS.Signals }>();
  const statuses = new Map<number, number>();
  const orphans = new Set<number>();
  let isKilled = false;
  return {
    told: (chosen, all, signal) => {
      const dying = new Set(chosen.filter(({ catches }) => !catches).map(({ pid }) => pid));
      for (const one of chosen) {
        if (dying.has(one.parent)) orphans.add(one.pid);
        if (!isShell(one) && !isReader(one, all) && !training.has(one.pid))
          training.set(one.pid, { catches: one.catches, signal });
      }
    },
    orphaned: (pid) => void orphans.add(pid),
    ended: ({ pid, status }) => void statuses.set(pid, status),
    killed: () => {
      isKilled = true;
    },
    isOrderly: ({ pid: leader, end }) => {
      const known = new Map(statuses);
      if (training.has(leader)) known.set(leader, end.code ?? -1);
      return (
        !isKilled &&
        training.size > 0 &&
        [...training].every(([pid, { catches, signal }]) => {
          const status = known.get(pid);
          return catches && (status === undefined ? signal !== "SIGINT" && !orphans.has(pid) : status === 0);
        })
      );
    },
  };
}
