import { listProcesses, readVariable, sharesPaths, type ProcessEntry } from "../host/list-processes.ts";
import { MARK, readMark, type ProgramRecord } from "./program-record.ts";

/**
 * Finds the processes of programs whose worker is gone. A process belongs to a program if the record names it (by pid and
 * start time), or if it is in the program's session, has its mark in the environment, or descends from such a process.
 * Children in new sessions are found by the mark, programs that overwrite their environment by the session, and others
 * because the subreaper adopted them.
 */

export interface SeenProcess extends ProcessEntry {
  /** Parsed mark of its environment; null without one. */
  mark: { id: string; folders: readonly string[] } | null;
}

/** Kernel threads have no environment. Their parent is `kthreadd`, the second process of a machine; a container has none. */
const isKernelThread = ({ parent, session }: ProcessEntry): boolean => parent === 2 && session === 0;

/** A process of a program that has not ended. */
export interface LeftProcess {
  pid: number;
  name: string;
}

export interface Wanted {
  records: readonly Pick<ProgramRecord, "id" | "process" | "others">[];
  /** Keys of watched folders, which identify by their marks the programs of other state folders. */
  folders: readonly string[];
  /** Processes that this process has adopted after their parents ended (`subreaper`). */
  adopted?: readonly number[];
  /** This process; it and its ancestors are never chosen. */
  self: number;
}

/** Returns the processes of `all` that belong to a wanted program. Pure. */
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
        // If the leader's pid was reused, the session is another one too.
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

/**
 * Returns the running processes, with marks where their environment is readable.
 * @param since start time of a program in kernel ticks: the marks of older processes are left out, because none can be one of
 *   its processes, and reading the environments of a whole machine takes much longer than listing its processes
 */
export function seeProcesses(since: string | null = null): SeenProcess[] {
  const isOlder = ({ startedAt }: ProcessEntry): boolean => since !== null && BigInt(startedAt) < BigInt(since);
  return listProcesses().map((one) => {
    if (isOlder(one) || isKernelThread(one)) return { ...one, mark: null };
    const text = readVariable(one.pid, MARK);
    if (text === null) return { ...one, mark: null };
    const mark = readMark(text);
    // In another mount namespace the same path is another folder.
    return { ...one, mark: sharesPaths(one.pid) ? mark : { ...mark, folders: [] } };
  });
}
