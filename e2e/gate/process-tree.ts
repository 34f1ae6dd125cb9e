import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Reads this machine's processes as a tree, from /proc on Linux, or from `ps` elsewhere. */

export interface ProcessEntry {
  pid: number;
  parent: number;
  /** Identifies a process together with the pid, because pids are reused. */
  startedAt: string;
  /** True when it has ended but its parent has not read its exit status. */
  isZombie: boolean;
}

const STAT_START_TIME = 19;

function readProc(): ProcessEntry[] {
  const found: ProcessEntry[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const text = readFileSync(`/proc/${name}/stat`, "utf8");
      // The command in parentheses may contain spaces and parentheses.
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      const [state = "", parent = ""] = fields;
      found.push({
        pid: Number(name),
        parent: Number(parent),
        startedAt: fields[STAT_START_TIME] ?? "",
        isZombie: state === "Z" || state === "X",
      });
    } catch {
      // The process ended after the folder was listed.
    }
  }
  return found;
}

function askPs(): ProcessEntry[] {
  const text = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat=,lstart="], { encoding: "utf8" });
  return text.split("\n").flatMap((line) => {
    const [pid, parent, state = "", ...started] = line.trim().split(/\s+/);
    if (pid === undefined || pid === "") return [];
    return [
      { pid: Number(pid), parent: Number(parent), startedAt: started.join(" "), isZombie: state.startsWith("Z") },
    ];
  });
}

/** Lists all processes that this user can see. */
export const listProcesses = (): ProcessEntry[] => (process.platform === "linux" ? readProc() : askPs());

/** Returns the children of `pid`, their children and so on, parents first; `pid` itself is not among them. */
export function descendantsOf(pid: number, all: readonly ProcessEntry[] = listProcesses()): ProcessEntry[] {
  const byParent = Map.groupBy(all, ({ parent }) => parent);
  const found: ProcessEntry[] = [];
  const queue = [pid];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const child of byParent.get(next) ?? []) {
      found.push(child);
      queue.push(child.pid);
    }
  }
  return found;
}

/** Returns the processes of `known` that still run. */
export function stillRunning(known: readonly ProcessEntry[]): ProcessEntry[] {
  const now = new Map(listProcesses().map((one) => [one.pid, one]));
  return known.filter(({ pid, startedAt }) => {
    const found = now.get(pid);
    return found !== undefined && !found.isZombie && found.startedAt === startedAt;
  });
}

/** Returns the command line of a process for people to read; empty when it has ended. */
export function commandOf(pid: number): string {
  try {
    if (process.platform === "linux") {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
    }
    return execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" }).trim();
  } catch {
    return "";
  }
}
