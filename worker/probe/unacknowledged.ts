import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/**
 * Bytes that this process gave to its TCP connections and that the other end has not acknowledged. What the kernel takes
 * says little about a slow link: with many connections its buffers hold seconds of it. Linux tells the length of each
 * queue; elsewhere the answer is null, and what the kernel took has to do.
 */
export function readUnacknowledged(proc = "/proc/self"): number | null {
  try {
    const own = new Set(readdirSync(`${proc}/fd`).map((fd) => inodeOf(`${proc}/fd/${fd}`)));
    return ["tcp", "tcp6"].reduce((sum, table) => sum + queuedIn(readTable(`${proc}/net/${table}`), own), 0);
  } catch {
    return null;
  }
}

/** Null for what is no socket, or was closed meanwhile. */
function inodeOf(fd: string): string | null {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(fd))?.[1] ?? null;
  } catch {
    return null;
  }
}

/** A machine without IPv6 has no table of it. */
function readTable(path: string): string {
  if (!path.endsWith("6")) return readFileSync(path, "latin1");
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** Lines look like `0: 0100007F:1F90 0200005A:2328 01 00000A12:00000000 00:00000000 00000000 0 0 4711 ...`. */
function queuedIn(table: string, own: ReadonlySet<string | null>): number {
  return table.split("\n").reduce((sum, line) => {
    const fields = line.trim().split(/\s+/);
    const queued = Number.parseInt(fields[4]?.split(":")[0] ?? "", 16);
    return own.has(fields[9] ?? "") && queued > 0 ? sum + queued : sum;
  }, 0);
}
