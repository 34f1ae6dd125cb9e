import { join } from "node:path";
import * as z from "zod";
import { toFault, type Fault } from "#protocol/faults/fault.ts";
import type { Clock } from "../base/clock.ts";
import type { Imds } from "./imds.ts";
import { readStateFile, writeStateFile } from "./state-file.ts";

/**
 * Reports this container's deletion cost to the platform, which removes the cheapest containers first. The cost is one
 * point for each MiB that is not safe yet, 0 when all is safe.
 */
export interface CostKeeping {
  imds: Pick<Imds, "setDeletionCost">;
  unsafeBytes(): Promise<number>;
  clock: Clock;
  signal: AbortSignal;
  /** Called for the first failure in a row only. */
  onFault(fault: Fault): void;
}

const MIB = 1024 * 1024;
const LOOK_EVERY_MS = 15_000;
/** Smaller changes of the cost are not reported: below this share of it, or below this number of points. */
const NOTABLE_SHARE = 0.1;
const NOTABLE_COST = 16;

/** Updates the deletion cost until the signal fires. Never throws: a platform that does not answer must not disturb training. */
export async function keepDeletionCost(keeping: CostKeeping): Promise<void> {
  const { imds, clock, signal } = keeping;
  let told: number | null = null;
  let hasFailed = false;
  while (!signal.aborted) {
    try {
      const cost = Math.ceil((await keeping.unsafeBytes()) / MIB);
      if (isNews(told, cost)) {
        await imds.setDeletionCost(cost);
        told = cost;
        hasFailed = false;
      }
    } catch (error) {
      if (!hasFailed) keeping.onFault(toFault(error, { op: "deletion-cost" }));
      hasFailed = true;
    }
    await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
  }
}

function isNews(told: number | null, cost: number): boolean {
  if (told === null || (told === 0) !== (cost === 0)) return true;
  return Math.abs(cost - told) >= Math.max(NOTABLE_COST, told * NOTABLE_SHARE);
}

const unsafe = z.object({ bytes: z.number().nonnegative() });

/**
 * Notes how many bytes one of several workers of a machine has not made safe, and returns the bytes of all of them: the
 * platform knows one cost of the machine. `folders`: the state folders of the workers. @throws Fault NO_SPACE, WRITE_FAILED
 */
export async function unsafeOfMachine(
  folders: readonly string[],
  own: { state: string; bytes: number },
): Promise<number> {
  const fileOf = (folder: string) => join(folder, "unsafe.json");
  await writeStateFile(fileOf(own.state), { bytes: own.bytes });
  let total = own.bytes;
  for (const folder of folders)
    if (folder !== own.state) total += (await readStateFile(fileOf(folder), unsafe).catch(() => null))?.bytes ?? 0;
  return total;
}
