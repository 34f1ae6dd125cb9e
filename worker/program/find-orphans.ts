import { listProcesses, readVariable, sharesPaths, type ProcessEntry } from "../host/list-processes.ts";
import { MARK, readMark, type ProgramRecord } from "./program-record.ts";

/**
 * The processes of programs whose worker is gone. A process belongs to one when it is the one that the record names (by number
 * and start time), is in its session, carries its mark, or was started by such a process: a launcher that gives its children
 * groups and sessions of their own is found by the mark, a program that writes over its environment by the session, and one that gave
 * up all of that by whom its parent left it to.
 */

export interface SeenProcess extends ProcessEntry {
  /** What its mark says; null without one. */
  mark: { id: string; folders: readonly string[] } | null;
}

/** A process of a program that has not ended. */
export interface LeftProcess {
  pid: number;
  name: string;
}

export interface Wanted {
  records: readonly Pick<ProgramRecord, "id" | "process" | "others">[];
  /** Keys of watched folders: of a program of another state folder the mark alone is known. */
  folders: readonly string[];
  /** Processes whose parent has ended and that came to this one (`subreaper`). */
  adopted?: readonly number[];
  /** This process, which is never one of them, and nor are those that started it. */
  self: number;
}

/** Pure. Returns those of `all` that belong to a program that is wanted. */
export function choosePrograms(
  all: readonly SeenProcess[],
  { records, folders, self, adopted = [] }: Wanted,
): SeenProcess[] {
  const byPid = new Map(all.map((one) => [one.pid, one]));
  const own = new Set<number>();
  for (let at = byPid.get(self); at !== undefined && !own.has(at.pid); at = byPid.get(at.parent)) own.add(at.pid);
  const ids = new Set(records.map(({ id }) => id));
  const isNamed = (one: SeenProcess): boolean =>
    adopted.includes(one.pid) ||
    records.some(({ process: known, others = [] }) =>
      (known === null ? others : [known, ...others]).some(({ pid, startedAt, session }) => {
        if (one.pid === pid) return one.startedAt === startedAt;
        if (session === null || one.session !== session) return false;
        // Its number was given to somebody else: so was its session.
        const leader = byPid.get(session);
        return leader === undefined || (leader.pid === pid && leader.startedAt === startedAt);
      }),
    );
  const isMarked = ({ mark }: SeenProcess): boolean =>
    mark !== null && (ids.has(mark.id) || mark.folders.some((key) => folders.includes(key)));
  const found = new Map<number, SeenProcess>();
  const queue = all.filter((one) => isNamed(one) || isMarked(one));
  const byParent = Map.groupBy(all, ({ parent }) => parent);
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    if (own.has(next.pid) || found.has(next.pid)) continue;
    found.set(next.pid, next);
    queue.push(...(byParent.get(next.pid) ?? []));
  }
  return [...found.values()];
}

/** Returns the processes that run now; marks of those that may be read. */
export function seeProcesses(): SeenProcess[] {
  return listProcesses().map((one) => {
    const text = readVariable(one.pid, MARK);
    if (text === null) return { ...one, mark: null };
    const mark = readMark(text);
    // In another container the same path is another folder.
    return { ...one, mark: sharesPaths(one.pid) ? mark : { ...mark, folders: [] } };
  });
}
