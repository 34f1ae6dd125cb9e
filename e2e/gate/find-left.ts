import { setTimeout as pause } from "node:timers/promises";
import { commandOf, listProcesses } from "./process-tree.ts";

/** How long a process may outlive its parent, in milliseconds. */
const LIMIT_MS = 15_000;
const LOOK_AGAIN_MS = 200;

/**
 * Returns the command lines of processes that tests left behind. The supervisor adopts orphans, see `supervise.ts`. Returns
 * none without a supervisor, or where orphans are not adopted.
 */
export async function findLeft(supervisor = Number(process.env["GATE_SUPERVISOR"] ?? 0)): Promise<string[]> {
  if (supervisor === 0 || process.ppid !== supervisor) return [];
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    const left = listProcesses().filter(
      ({ pid, parent, isZombie }) => parent === supervisor && pid !== process.pid && !isZombie,
    );
    if (left.length === 0 || performance.now() > deadline) return left.map(({ pid }) => commandOf(pid));
    await pause(LOOK_AGAIN_MS);
  }
}
