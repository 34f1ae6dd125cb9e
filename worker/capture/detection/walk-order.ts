import { sep } from "node:path";
import { nameEvidenceOf } from "#protocol/recognition/checkpoint-evidence.ts";
import { createPriorityQueue } from "#worker/base/priority-queue.ts";

/**
 * Chooses the folders that a walk through a watched folder enters, so that its work is bounded and nothing newer is left for
 * something older. Each walk enters all folders that held a checkpoint before, then those that changed last, then some of the
 * others in turn: a folder keeps its time when only something far below it changes, so every folder has to be entered at some
 * time. The first walk enters many more, because nothing is known yet.
 */
export interface WalkOrder {
  begin(): void;
  add(found: FoundFolder): void;
  /** Returns the folder that is looked at next; null: this walk has no more. */
  next(): FoundFolder | null;
  /** Counts a folder that was looked through for others. */
  entered(folder: FoundFolder, names: number): void;
  /** Ends a walk, with the paths of the checkpoints that it found. */
  end(checkpoints: readonly string[]): void;
  /** Returns an order that knows the same folders, and begins with a first walk. */
  again(): WalkOrder;
}

export interface FoundFolder {
  path: string;
  name: string;
  /** Levels below the watched folder, which is 0. */
  level: number;
  changedMs: number;
  dev: number;
}

/** Limits of one walk: folders by their time, folders in turn, and names in all of them. */
export interface WalkLimits {
  newest: number;
  inTurn: number;
  names: number;
}

/** The first walk, which a worker makes at its start and after the end of the program. */
const FIRST: WalkLimits = { newest: 20_000, inTurn: 0, names: 400_000 };
const LATER: WalkLimits = { newest: 2_000, inTurn: 500, names: 100_000 };

const newestFirst = (a: FoundFolder, b: FoundFolder): number => b.changedMs - a.changedMs || (a.path < b.path ? -1 : 1);

export function createWalkOrder(
  root: string,
  limits: { first: WalkLimits; later: WalkLimits } = { first: FIRST, later: LATER },
  known: ReadonlySet<string> = new Set(),
): WalkOrder {
  /** Folders that held a checkpoint at this walk or before, those above them, and the checkpoints themselves. */
  let held = known;
  /** Folders that this walk looked at. */
  let looked = new Set<string>();
  /**
   * Folders that are entered in turn, the next one last; walks go on where the one before them stopped, deepest first, so that
   * every folder is reached.
   */
  let turns: FoundFolder[] = [];
  let isInTurn = false;
  let walk = 0;
  let limit = limits.first;
  let count = { newest: 0, inTurn: 0, names: 0 };

  /** Every look judges a folder with a saver's name, because it is most likely a checkpoint, whose contents are not searched. */
  const isAlwaysLookedAt = ({ path, name }: FoundFolder) => held.has(path) || nameEvidenceOf(name) === "word";
  const create = () => ({ always: createPriorityQueue(newestFirst), newest: createPriorityQueue(newestFirst) });
  let queues = create();
  const hasRoom = () => !isInTurn && count.newest < limit.newest && count.names < limit.names;
  const takeInTurn = (): FoundFolder | null => {
    if (!isInTurn && turns.length === 0) {
      for (let one = queues.newest.take(); one !== undefined; one = queues.newest.take()) turns.push(one);
      turns.reverse();
    }
    isInTurn = true;
    while (count.inTurn < limit.inTurn) {
      const one = turns.pop();
      if (one === undefined) return null;
      if (looked.has(one.path)) continue;
      count.inTurn++;
      return one;
    }
    return null;
  };
  return {
    begin: () => {
      limit = walk === 0 ? limits.first : limits.later;
      walk++;
      count = { newest: 0, inTurn: 0, names: 0 };
      queues = create();
      looked = new Set();
      isInTurn = false;
    },
    add: (found) => {
      if (isAlwaysLookedAt(found)) queues.always.add(found);
      else if (isInTurn) turns.push(found);
      else queues.newest.add(found);
    },
    next: () => {
      const one = queues.always.take() ?? (hasRoom() ? queues.newest.take() : undefined) ?? takeInTurn();
      if (one !== null) looked.add(one.path);
      return one;
    },
    entered: (folder, names) => {
      if (isInTurn || isAlwaysLookedAt(folder)) return;
      count.newest++;
      count.names += names;
    },
    end: (checkpoints) => {
      // A program that removes its only checkpoint before it writes the next leaves a folder empty for a moment.
      held = new Set([...withFoldersAbove(checkpoints, root), ...[...held].filter((path) => looked.has(path))]);
    },
    again: () => createWalkOrder(root, limits, held),
  };
}

/** Returns the paths and all folders between them and the root. */
function withFoldersAbove(paths: readonly string[], root: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const path of paths)
    for (let end = path.length; end > root.length; end = path.lastIndexOf(sep, end - 1)) found.add(path.slice(0, end));
  return found;
}
