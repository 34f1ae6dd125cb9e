import { Fault } from "#protocol/faults/fault.ts";
import { formatBytes } from "#protocol/base/units.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { CheckpointRole } from "#protocol/checkpoint/checkpoint.ts";
import type { Capture } from "./capture.ts";
import { isOfOneLine } from "./ledger.ts";

/**
 * What captures may take of the disk. Platforms kill a container that uses more than it asked for, so the budget is kept
 * before a byte is copied. Linked files count in full: as soon as the program rotates its own copy away, they are ours
 * alone. Where it is full, captures that wait or failed and that a newer one of their run overtakes make room (they are recorded as
 * superseded): a night of refusals must not keep what is newest from being captured. One that is being sent never does.
 */
export interface DiskBudget {
  /** Most bytes of all captures together. */
  mostBytes: number;
}

export interface Wanted {
  run: RunName;
  /** Absent of a checkpoint. */
  role?: CheckpointRole | undefined;
  /** Absent of one that is whole. */
  doubt?: string | undefined;
  step: number;
  sizeBytes: number;
}

/** Held by captures that were not removed yet, whatever became of them. */
export const heldBytes = (captures: readonly Capture[]): number =>
  captures.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

/**
 * Which captures have to go so that `wanted` fits, oldest first, and no more of them than needed. First what is safe
 * already and only waits to be copied to another home (`spare`), then those of the same run, which it overtakes, before all those that failed; then, of other runs, those that a newer one
 * overtakes anyway.
 * @throws Fault DISK_BUDGET when it does not fit all the same
 */
export function makeRoom(
  captures: readonly Capture[],
  wanted: Wanted,
  budget: DiskBudget & { spare?: readonly Capture[] },
): Capture[] {
  const { spare = [] } = budget;
  const going: Capture[] = [];
  let free = budget.mostBytes - heldBytes(captures) - heldBytes(spare);
  for (const item of [...spare.toSorted((a, b) => a.capturedAt - b.capturedAt), ...overtaken(captures, wanted)]) {
    if (free >= wanted.sizeBytes) break;
    going.push(item);
    free += item.sizeBytes;
  }
  if (free >= wanted.sizeBytes) return going;
  const held = budget.mostBytes - free;
  const rest = held > 0 ? `, ${formatBytes(held)} are held by captures that are not safe yet` : "";
  const detail = `it has ${formatBytes(wanted.sizeBytes)}, ${formatBytes(budget.mostBytes)} are allowed${rest}`;
  throw new Fault("DISK_BUDGET", { op: "capture", subject: `${wanted.run} step ${wanted.step}`, detail });
}

/** Runs copies one at a time, each when there is room for it: two at once would both count on the same bytes. */
export interface Disk {
  /** Faults: DISK_BUDGET, those of `copy`. */
  withRoom<T>(wanted: Wanted, copy: () => Promise<T>): Promise<T>;
}

export function createDisk(parts: {
  budget: DiskBudget;
  captures(): readonly Capture[];
  /** Safe already, and kept for the sake of further copies. */
  spare?(): readonly Capture[];
  passOver(captures: readonly Capture[]): Promise<void>;
}): Disk {
  let last: Promise<unknown> = Promise.resolve();
  return {
    withRoom: (wanted, copy) => {
      const work = async () => {
        await parts.passOver(makeRoom(parts.captures(), wanted, { ...parts.budget, spare: parts.spare?.() ?? [] }));
        return copy();
      };
      const mine = last.then(work, work);
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}

function overtaken(captures: readonly Capture[], wanted: Wanted): Capture[] {
  const byAge = captures.toSorted((a, b) => a.capturedAt - b.capturedAt || a.step - b.step);
  const failed = byAge.filter(({ state }) => state === "failed");
  const waiting = byAge.filter(({ state }) => state === "waiting");
  const isOwn = (item: Capture) => isOfOneLine(item, wanted) && item.step <= wanted.step;
  // What is whole comes before what may not be.
  const isDoubtful = (item: Capture) =>
    item.run === wanted.run && item.doubt !== undefined && wanted.doubt === undefined;
  const isOvertakenBy = (others: readonly Capture[]) => (item: Capture) =>
    item.run !== wanted.run && others.some((one) => isOfOneLine(one, item) && one.capturedAt > item.capturedAt);
  return [
    ...[...failed, ...waiting].filter((item) => isOwn(item) || isDoubtful(item)),
    ...failed.filter(isOvertakenBy(captures)),
    ...waiting.filter(isOvertakenBy(waiting)),
  ];
}
