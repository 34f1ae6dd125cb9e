import { systemClock } from "../base/clock.ts";
import { isSignalPending, isStopped, readProcess, signalProcess, type ProcessEntry } from "../host/list-processes.ts";

export interface PassingOn<T extends ProcessEntry> {
  /** Processes that may get the signal from a trap of their shell. */
  held: readonly T[];
  signal: NodeJS.Signals;
  /** Sends the signal to the shells. */
  tell(): void;
  /** Called for each process of `held` that got the signal from another process. */
  onPassedOn(one: T): void;
}

const LOOK_MS = 5;
/** Longest time until a process is stopped. One that waits for a disk takes longer. */
const STOP_MS = 100;
/** Time for a trap to pass a signal on. */
const PASS_MS = 500;

/**
 * Tells shells a signal and notices which of their background processes get it from a trap. A second signal could interrupt
 * the save that the first one began. A signal to a stopped process stays pending, which /proc shows; a delivered one leaves no
 * trace. So the processes are stopped meanwhile, and continued. No faults.
 */
export async function noticePassedOn<T extends ProcessEntry>({
  held,
  signal,
  tell,
  onPassedOn,
}: PassingOn<T>): Promise<void> {
  const isGone = ({ pid, startedAt }: ProcessEntry): boolean => readProcess(pid)?.startedAt !== startedAt;
  for (const one of held) signalProcess(one, "SIGSTOP");
  // Until then, a signal that arrives is delivered before SIGSTOP, which has a higher number.
  await waitFor(() => held.every((one) => isStopped(one.pid) || isGone(one)), STOP_MS);
  tell();
  const waiting = new Set(held);
  await waitFor(() => {
    for (const one of waiting) {
      const isPassedOn = isSignalPending(one.pid, signal);
      if (isPassedOn) onPassedOn(one);
      if (isPassedOn || isGone(one)) {
        signalProcess(one, "SIGCONT");
        waiting.delete(one);
      }
    }
    return waiting.size === 0;
  }, PASS_MS);
  for (const one of waiting) signalProcess(one, "SIGCONT");
}

async function waitFor(isTrue: () => boolean, mostMs: number): Promise<void> {
  const until = systemClock.now() + mostMs;
  while (!isTrue() && systemClock.now() < until) await systemClock.sleep(LOOK_MS).catch(() => undefined);
}
