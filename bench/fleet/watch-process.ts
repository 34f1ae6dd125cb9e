import { readdir, readFile } from "node:fs/promises";

/** CPU seconds and resident bytes of a process and all its descendants, as the kernel counts them. */
export interface Usage {
  cpuSeconds: number;
  rssBytes: number;
}

/** `getconf CLK_TCK` on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

async function parentsOf(): Promise<Map<number, number>> {
  const parents = new Map<number, number>();
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
    // The process name in parentheses may contain spaces; the fields after the last parenthesis are fixed.
    const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  return parents;
}

/** Returns the process and all its living descendants. */
async function familyOf(pid: number): Promise<number[]> {
  const parents = await parentsOf();
  const family = [pid];
  for (let at = 0; at < family.length; at++) {
    for (const [child, parent] of parents) if (parent === family[at]) family.push(child);
  }
  return family;
}

export async function usageOf(pid: number): Promise<Usage> {
  const usage: Usage = { cpuSeconds: 0, rssBytes: 0 };
  for (const one of await familyOf(pid)) {
    const stat = await readFile(`/proc/${one}/stat`, "utf8").catch(() => "");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    usage.cpuSeconds += (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND;
    const status = await readFile(`/proc/${one}/status`, "utf8").catch(() => "");
    usage.rssBytes += Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
  }
  return usage;
}
