import { systemClock } from "../base/clock.ts";
import { isStopped, maySeeEnd, readEnd, signalProcess, type ProcessEntry } from "../host/list-processes.ts";
import { isShell, type Tellable } from "./choose-told.ts";
import type { AdoptedEnd } from "./subreaper.ts";

/**
 * Learns how the training below a shell ends, where this process adopts nothing (no Koffi). A shell that dies of the signal
 * leaves its training to the system, which reaps it and tells nobody. So the shell is stopped first: its signal stays pending,
 * the training saves and ends, and /proc shows the exit status of a process that its parent has not seen. Then the shell is
 * continued, and dies.
 */
export interface HeldShell {
  shell: ProcessEntry;
  children: readonly ProcessEntry[];
}

/** Returns the shells among the told processes that would die before what trains below them. Pure but for /proc. */
export function shellsToHold(told: readonly Tellable[]): HeldShell[] {
  return told.flatMap((shell) => {
    if (!isShell(shell) || shell.catches) return [];
    const children = told.filter(({ parent }) => parent === shell.pid);
    const isSeen = children.every((one) => isShell(one) || maySeeEnd(one.pid));
    return children.length > 0 && isSeen ? [{ shell, children }] : [];
  });
}

const LOOK_MS = 20;
/** Longest time until a process is stopped. One that waits for a disk takes longer. */
const STOP_MS = 100;

/** Stops the shells, sends the signals, and continues each shell when all that it waited for has ended. No faults. */
export async function watchBelowShells(
  held: readonly HeldShell[],
  on: { tell(): void; ended(end: AdoptedEnd): void },
): Promise<void> {
  for (const { shell } of held) signalProcess(shell, "SIGSTOP");
  // Until then, a signal that arrives is delivered before SIGSTOP, which has a higher number.
  for (const until = systemClock.now() + STOP_MS; systemClock.now() < until;) {
    if (held.every(({ shell }) => isStopped(shell.pid) || readEnd(shell) !== "running")) break;
    await systemClock.sleep(LOOK_MS / 4).catch(() => undefined);
  }
  on.tell();
  const waiting = new Set(held);
  while (waiting.size > 0) {
    for (const one of waiting) {
      const ends = one.children.map((child) => ({ pid: child.pid, end: readEnd(child) }));
      const isShellThere = readEnd(one.shell) === "running";
      if (isShellThere && ends.some(({ end }) => end === "running")) continue;
      waiting.delete(one);
      for (const { pid, end } of ends) if (typeof end === "number") on.ended({ pid, status: end });
      signalProcess(one.shell, "SIGCONT");
    }
    if (waiting.size > 0) await systemClock.sleep(LOOK_MS).catch(() => undefined);
  }
}
