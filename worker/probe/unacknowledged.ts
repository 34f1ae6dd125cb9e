import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/**
 * Returns the bytes in the send queues of this process's TCP connections that the other end has not acknowledged. On a slow
 * link, the kernel's buffers of many connections hold seconds of traffic, so written bytes say little. Null on systems other
 * than Linux.
 */
export function readUnacknowledged(proc = "/proc/self"): number | null {
  try {
    const own = new Set(readdirSync(`${proc}/fd`).map((fd) => inodeOf(`${proc}/fd/${fd}`)));
    return ["tcp", "tcp6"].reduce((sum, table) => sum + queuedIn(readTable(`${proc}/net/${table}`), own), 0);
  } catch {
    return null;
  }
}

/** Returns the inode of a socket; null for another file, or one closed meanwhile. */
function inodeOf(fd: string): string | null {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(fd))?.[1] ?? null;
  } catch {
    return null;
  }
}

/** Reads a table of connections. A machine without IPv6 lacks tcp6, which counts as empty. */
function readTable(path: string): string {
  if (!path.endsWith("6")) return readFileSync(path, "latin1");
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** Sums send queues. A line: `0: 0100007F:1F90 0200005A:2328 01 00000A12:00000000 00:00000000 00000000 0 0 4711 ...`. */
function queuedIn(table: string, own: ReadonlySet<string | null>): number {
  return table.split("\n").reduce((sum, line) => {
    const fields = line.trim().split(/\s+/);
    const queued = Number.parseInt(fields[4]?.split(":")[0] ?? "", 16);
    return own.has(fields[9] ?? "") && queued > 0 ? sum + queued : sum;
  }, 0);
}
