import { constants } from "node:os";
import { readName, readPipeOf, readSignalMasks, type ProcessEntry } from "../host/list-processes.ts";

/**
 * Which processes of a program get a signal from us. A launcher with a handler passes it on itself, and its children must not
 * get it twice. A process without one dies of it and tells nobody: `sh -c 'python train.py | tee log'` would end and leave the
 * training behind. A shell with a trap runs it only when the command in its foreground has ended, so that one is told too.
 */
export interface Tellable extends ProcessEntry {
  name: string;
  /** Has a handler for the signal. Where that is not told: true. */
  catches: boolean;
  /** A shell started it with `&`: such commands ignore SIGINT and SIGQUIT (POSIX, 2.11 Signals and Error Handling). */
  isBackground: boolean;
  /** The pipe that it reads as its input, and those that it writes. */
  reads: string | null;
  writes: readonly string[];
}

const SHELLS = new Set(["sh", "dash", "bash", "ash", "busybox", "zsh", "ksh", "ksh93", "mksh", "yash"]);

/** Signals of agreement between programs: one that would die of it is passed over for what it started. */
const FOR_HANDLERS = new Set<NodeJS.Signals>(["SIGUSR1", "SIGUSR2"]);

const bitOf = (signal: NodeJS.Signals): bigint => 1n << BigInt(constants.signals[signal] - 1);

/** Returns what has to be known of a process to decide. */
export function lookAtProcess(one: ProcessEntry, signal: NodeJS.Signals): Tellable {
  const masks = readSignalMasks(one.pid);
  return {
    ...one,
    name: readName(one.pid),
    catches: masks === null || (masks.caught & bitOf(signal)) !== 0n,
    isBackground: masks !== null && (masks.ignored & bitOf("SIGQUIT")) !== 0n,
    reads: readPipeOf(one.pid, 0),
    writes: [1, 2].flatMap((fd) => readPipeOf(one.pid, fd) ?? []),
  };
}

/**
 * Pure. Returns those of `all` that are told, `roots` first. One without a handler that reads the output of another (`| tee log`)
 * is left out: it ends when that one does, and without it the other could not say its last words.
 */
export function chooseTold(
  all: readonly Tellable[],
  { roots, signal }: { roots: readonly number[]; signal: NodeJS.Signals },
): Tellable[] {
  const byParent = Map.groupBy(all, ({ parent }) => parent);
  const told = new Map<number, Tellable>();
  const visit = (one: Tellable) => {
    if (told.has(one.pid)) return;
    const children = byParent.get(one.pid) ?? [];
    const isPassedOver = FOR_HANDLERS.has(signal) && !one.catches && children.length > 0;
    if (!isPassedOver) told.set(one.pid, one);
    if (one.catches && !SHELLS.has(one.name)) return;
    for (const child of children) {
      if (isReader(child, all) || (one.catches && child.isBackground)) continue;
      visit(child);
    }
  };
  for (const one of all) if (roots.includes(one.pid)) visit(one);
  return [...told.values()];
}

/** Whether its input is what another one of them writes, and the signal would end it at once. */
export const isReader = (one: Tellable, all: readonly Tellable[]): boolean =>
  !one.catches &&
  one.reads !== null &&
  all.some((other) => other.pid !== one.pid && other.writes.includes(one.reads ?? ""));
