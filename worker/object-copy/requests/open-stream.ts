import { open as openFile, type BigIntStats } from "node:fs";
import { open } from "node:fs/promises";
import { promisify } from "node:util";
import { Fault } from "#protocol/faults/fault.ts";
import { diskFault } from "#worker/base/disk-fault.ts";
import { openInput, type Input } from "#worker/command-line/read-input.ts";
import type { Stream } from "./send-stdin.ts";
import { shownName } from "#worker/command-line/command-context.ts";

const openFd = promisify<string, string, number>(openFile);

/**
 * Returns the stream for a source that is no regular file: a pipe (`mkfifo`, `<(command)`), a device, or a file of the
 * kernel that reports 0 bytes but has content (`/proc/cpuinfo`). Null for a regular file.
 * @throws Fault BAD_INPUT for a socket, which cannot be read as a file
 */
export async function streamOf(path: string, stats: BigIntStats): Promise<Stream | null> {
  if (stats.isSocket()) throw new Fault("BAD_INPUT", { op: "cp", subject: path, detail: "it is a socket" });
  const isStream = stats.isFIFO() || stats.isCharacterDevice() || stats.isBlockDevice();
  if (!isStream && (stats.size > 0n || !(await hasBytes(path)))) return null;
  return { name: shownName(path), from: path, open: () => openPath(path) };
}

async function openPath(path: string): Promise<Input> {
  try {
    return openInput(await openFd(path, "r"));
  } catch (error) {
    throw diskFault(error, { op: "read", subject: path, otherwise: "READ_FAILED" });
  }
}

/** Tells whether a file that reports 0 bytes has content. @throws Fault READ_FAILED */
async function hasBytes(path: string): Promise<boolean> {
  try {
    await using handle = await open(path, "r");
    return (await handle.read(Buffer.alloc(1), 0, 1, 0)).bytesRead > 0;
  } catch (error) {
    throw diskFault(error, { op: "read", subject: path, otherwise: "READ_FAILED" });
  }
}
