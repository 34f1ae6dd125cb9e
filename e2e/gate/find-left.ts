import { setTimeout as pause } from "node:timers/promises";
import { commandOf, listProcesses } from "./process-tree.ts";

/** How long a process whose parent has ended may take to end as well. */
const LIMIT_MS = 15_000;
const LOOK_AGAIN_MS = 200;

/**
 * Finds processes that tests have left behind: those whose parent has ended were adopted by the supervisor, see `supervise.ts`.
 * Returns their command lines; none without a supervisor, or where orphans are not adopted.
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
