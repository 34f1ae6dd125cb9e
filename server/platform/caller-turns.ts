import { AsyncLocalStorage } from "node:async_hooks";
import type { Turns } from "#prisma/take-turns.ts";
import { createFairQueue } from "./fair-queue.ts";

/** Lets callers of the hub take turns at its database. The hub's own work counts as one caller. */

const callers = new AsyncLocalStorage<string>();
const THE_HUB = "";
const UNLIMITED = { waiting: Infinity, waitingEach: Infinity };

/** Runs `work` as this caller, with everything that it starts. */
export const asCaller = <T>(caller: string, work: () => T): T => callers.run(caller, work);

/** Returns turns by the caller of `asCaller`, for one at a time or `atOnce`; each caller's work begins in its order. */
export function createCallerTurns(atOnce = 1): Turns {
  const queue = createFairQueue({ atOnce, atOnceEach: atOnce, ...UNLIMITED });
  return { run: (work) => queue.run(callers.getStore() ?? THE_HUB, work) };
}
