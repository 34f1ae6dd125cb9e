import type { UnopenedLine } from "#protocol/checkpoint/line-branch.ts";
import { stepText } from "#protocol/checkpoint/step-words.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { formatBytes } from "#protocol/base/units.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { CheckpointRole } from "#protocol/checkpoint/checkpoint.ts";
import type { WatchedRoot } from "#protocol/checkpoint/place.ts";
import type { Capture } from "./capture.ts";
import { isOfOneUnopened, isOfOneLine } from "./ledger.ts";

/**
 * Limits the disk space of captures. Platforms kill a container that uses more than it asked for, so the budget is checked
 * before a byte is copied. Linked files count in full: as soon as the program rotates its own copy away, only the capture holds
 * them. When the budget is full, waiting and failed captures that a newer one of their run supersedes make room, and are
 * recorded as superseded. When the last capture of an earlier line is removed, the reason gives its size. So captures that the hub
 * refused for hours do not block the newest checkpoint. A capture that is being sent is never removed.
 */
export interface DiskBudget {
  /** Upper limit of all captures together, bytes. */
  mostBytes: number;
}

export interface Wanted {
  run: RunName;
  /** Absent for an ordinary checkpoint. */
  role?: CheckpointRole | undefined;
  /** Absent for a complete checkpoint. */
  doubt?: string | undefined;
  step: number;
  sizeBytes: number;
  /** Epoch that it will belong to; null where it is not known yet. */
  epoch: number | null;
  /** Line that it belongs to while the hub could not be asked to open it. */
  newLine?: UnopenedLine | null;
  /** Which of several watched folders of the run holds it; absent: its only one. */
  root?: WatchedRoot | undefined;
}

/** Returns the bytes of all captures that were not removed yet, in any state. */
export const heldBytes = (captures: readonly Capture[]): number =>
  captures.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

/**
 * Returns the captures to remove so that `wanted` fits, and no more of them than needed. First come safe ones that only wait to
 * be copied to a replica (`spare`), oldest first. Then come those of the same run that `wanted` supersedes, failed ones first;
 * then those of other runs that a newer capture supersedes; last the newest capture of each line that its run has abandoned.
 * @throws Fault DISK_BUDGET when it still does not fit
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
  throw new Fault("DISK_BUDGET", { op: "capture", subject: `${wanted.run} ${stepText(wanted.step)}`, detail });
}

/** Runs copies one at a time, each when there is room for it: two at once would both count on the same bytes. */
export interface Disk {
  /** Runs `copy` once there is room. Faults: DISK_BUDGET, those of `copy`. */
  withRoom<T>(wanted: Wanted, copy: () => Promise<T>): Promise<T>;
}

export function createDisk(parts: {
  budget: DiskBudget;
  captures(): readonly Capture[];
  /** Returns safe captures that are kept only for further copies. */
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
  // A complete checkpoint takes the place of one that may be incomplete.
  const isDoubtful = (item: Capture) =>
    item.run === wanted.run && item.doubt !== undefined && wanted.doubt === undefined;
  const isOvertakenBy = (others: readonly Capture[]) => (item: Capture) =>
    item.run !== wanted.run && others.some((one) => isOfOneLine(one, item) && one.capturedAt > item.capturedAt);
  // The last checkpoint of an earlier line is of more use than an older one, and of less than what is trained now.
  const isBefore = (item: Capture) =>
    wanted.newLine == null
      ? item.epoch !== null && wanted.epoch !== null && item.epoch < wanted.epoch
      : !isOfOneUnopened(item.newLine, wanted.newLine);
  const isEarlier = (item: Capture) => item.run === wanted.run && isBefore(item);
  return [
    ...[...failed, ...waiting].filter((item) => isOwn(item) || isDoubtful(item)),
    ...failed.filter(isOvertakenBy(captures)),
    ...waiting.filter(isOvertakenBy(waiting)),
    ...[...failed, ...waiting].filter((item) => isEarlier(item) && !isDoubtful(item)),
  ];
}
