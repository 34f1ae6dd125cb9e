import { createHash } from "node:crypto";
import { readlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownTemporaryFolder } from "../host/own-temporary-folder.ts";

/**
 * Path of the local API's unix socket: `local.sock` in the state folder. Where that path is too long for a socket, the socket
 * lies in a private folder for temporary files, and `local.sock` is a symbolic link whose target is its path.
 */

/** Longest path of a unix socket: `sun_path` of Linux without its terminating zero. */
const MOST_SOCKET_PATH_BYTES = 107;

export const socketOf = (state: string): string => join(state, "local.sock");

const fits = (path: string): boolean => Buffer.byteLength(path) <= MOST_SOCKET_PATH_BYTES;

/** Returns the path at which a worker listens; null where no short private folder can be had. */
export function placeSocket(state: string, temporaries: readonly string[] = [tmpdir(), "/tmp", "/run"]): string | null {
  const path = socketOf(state);
  if (fits(path)) return path;
  const name = `${createHash("sha256").update(state).digest("hex").slice(0, 16)}.local.sock`;
  for (const temporary of temporaries) {
    if (!fits(join(temporary, `tidemark-run-${process.getuid?.() ?? 0}`, name))) continue;
    const folder = ownTemporaryFolder(temporary);
    if (folder !== null) return join(folder, name);
  }
  return null;
}

/** Returns the path at which the worker of a state folder listens, by its link where there is one. */
export async function findSocket(state: string): Promise<string> {
  const path = socketOf(state);
  return fits(path) ? path : readlink(path).catch(() => path);
}
