import {
  bitOf,
  readName,
  readPipeOf,
  readProgramName,
  readSignalMasks,
  type ProcessEntry,
} from "../host/list-processes.ts";

/**
 * Chooses the processes of a program that get a signal from the worker. A launcher with a handler passes the signal on, and
 * its children must not get it twice. A process without a handler dies without passing it on:
 * `sh -c 'python train.py | tee log'` would leave the training behind. A shell runs its trap only after its foreground
 * command has ended, so that command gets the signal too.
 */
export interface Tellable extends ProcessEntry {
  name: string;
  /** Has a handler for the signal; true when unknown. */
  catches: boolean;
  /** Started by a shell with `&`, after which a command ignores SIGINT and SIGQUIT (POSIX, 2.11 Signals and Error Handling). */
  isBackground: boolean;
  /** The pipe that is its stdin, and the pipes that are its stdout and stderr. */
  reads: string | null;
  writes: readonly string[];
}

const SHELLS = new Set(["sh", "dash", "bash", "ash", "busybox", "zsh", "ksh", "ksh93", "mksh", "yash"]);

/** Tells whether a process is a shell, by its name. */
export const isShell = ({ name }: Pick<Tellable, "name">): boolean => SHELLS.has(name);

/** Signals that programs use by agreement. A process that would die of one is skipped; its children get the signal. */
const FOR_HANDLERS = new Set<NodeJS.Signals>(["SIGUSR1", "SIGUSR2"]);

/** Returns the name of a process's program; that of the shell for a script, which /proc names by its own file. */
function nameOf(pid: number): string {
  const program = readProgramName(pid);
  // Busybox is one program for a shell and for others.
  return isShell({ name: program }) && program !== "busybox" ? program : readName(pid);
}

/** Reads the facts about a process that `chooseTold` needs. */
export function lookAtProcess(one: ProcessEntry, signal: NodeJS.Signals): Tellable {
  const masks = readSignalMasks(one.pid);
  return {
    ...one,
    name: nameOf(one.pid),
    catches: masks === null || (masks.caught & bitOf(signal)) !== 0n,
    isBackground: masks !== null && (masks.ignored & bitOf("SIGQUIT")) !== 0n,
    reads: readPipeOf(one.pid, 0),
    writes: [1, 2].flatMap((fd) => readPipeOf(one.pid, fd) ?? []),
  };
}

/**
 * Returns the processes of `all` that get the signal, beginning with `roots`. Pure. A process without a handler that reads the
 * output of another (`| tee log`) is left out. It ends with its writer, whose last output would otherwise be lost.
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
    if (one.catches && !isShell(one)) return;
    for (const child of children) {
      if (isReader(child, all) || (one.catches && child.isBackground)) continue;
      visit(child);
    }
  };
  for (const one of all) if (roots.includes(one.pid)) visit(one);
  return [...told.values()];
}

/**
 * Returns the processes that a shell with a handler in `told` has in its background, and those below them as in `chooseTold`.
 * The trap of that shell may not pass the signal on. Pure.
 */
export function chooseHeldBack(
  all: readonly Tellable[],
  { told, signal }: { told(one: Tellable): boolean; signal: NodeJS.Signals },
): Tellable[] {
  const shells = new Set(all.filter((one) => isShell(one) && one.catches && told(one)).map(({ pid }) => pid));
  const held = all.filter((one) => shells.has(one.parent) && one.isBackground && !isReader(one, all));
  return chooseTold(all, { roots: held.map(({ pid }) => pid), signal });
}

/** Tells whether a process has no handler and reads the output of another process in `all`. */
export const isReader = (one: Tellable, all: readonly Tellable[]): boolean =>
  !one.catches &&
  one.reads !== null &&
  all.some((other) => other.pid !== one.pid && other.writes.includes(one.reads ?? ""));
