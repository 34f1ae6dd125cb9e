import { Fault } from "#protocol/faults/fault.ts";
import { pickTarget } from "../file-access.ts";
import { openStream } from "./stream-target.ts";
import type { Target } from "./target.ts";

/**
 * Where a download goes: straight to the disk at any position where the browser can do that, otherwise in order through
 * the browser's own downloads, otherwise into memory until it is whole. Which one it is, is told.
 */

export const MODE_WORDS: Record<Target["mode"], string> = {
  disk: "in parallel ranges straight to the disk",
  stream: "in order through the browser's own downloads, because it lets no page write files",
  memory: "through memory, because this browser lets no page write files and runs no service worker here",
};

/** A page that holds more than this is ended by some browsers. */
const MOST_IN_MEMORY_BYTES = 1024 ** 3;

/** What the disk says, as a Fault. */
async function written<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    const isFull = cause instanceof DOMException && cause.name === "QuotaExceededError";
    throw new Fault(isFull ? "NO_SPACE" : "WRITE_FAILED", { op: "write the file", cause });
  }
}

async function onDisk(handle: FileSystemFileHandle): Promise<Target> {
  const stream = await written(handle.createWritable());
  return {
    mode: "disk",
    writeAt: (position, data) => written(stream.write({ type: "write", position, data })),
    write: (bytes) => written(stream.write(bytes)),
    restart: async () => {
      await written(stream.truncate(0));
      await written(stream.seek(0));
    },
    close: () => written(stream.close()),
    abort: () => stream.abort().catch(() => undefined),
  };
}

function inMemory(name: string): Target {
  let chunks: Blob[] = [];
  let held = 0;
  return {
    mode: "memory",
    writeAt: null,
    write: async (bytes) => {
      held += bytes.length;
      if (held > MOST_IN_MEMORY_BYTES) {
        const detail = "this browser can only hold it in memory; use Chromium, or `tidemark cp`";
        throw new Fault("NO_SPACE", { op: "download", subject: name, detail });
      }
      chunks.push(new Blob([bytes]));
    },
    restart: async () => {
      chunks = [];
      held = 0;
    },
    close: async () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob(chunks, { type: "application/octet-stream" }));
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
      chunks = [];
    },
    abort: async () => {
      chunks = [];
    },
  };
}

/** Asks the person where to; null when they thought better of it. While a click is being answered. */
export async function openTarget(name: string): Promise<Target | null> {
  const handle = await pickTarget(name);
  if (handle === null) return null;
  if (handle !== undefined) return onDisk(handle);
  return (await openStream(name)) ?? inMemory(name);
}
