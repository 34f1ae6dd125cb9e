import { Fault } from "#protocol/faults/fault.ts";
import { pickTarget } from "../file-access.ts";
import { openStream } from "./stream-target.ts";
import type { Target } from "./target.ts";

/**
 * Opens the target of a download. Where the browser allows it, ranges are written to the disk at any position. Otherwise the
 * bytes go in order through the browser's own downloads, or else into memory. The page shows which.
 */

export const MODE_WORDS: Record<Target["mode"], string> = {
  disk: "in parallel ranges straight to the disk",
  stream: "in order through the browser's own downloads, because it lets no page write files",
  memory: "through memory, because this browser lets no page write files and runs no service worker here",
};

/** Most bytes of a download in memory. Some browsers kill pages that hold more. */
const MOST_IN_MEMORY_BYTES = 1024 ** 3;

/** Converts errors of the file system into Faults. */
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

/** Asks the person for the target; null when they canceled. Call it while handling a click: pickers need user activation. */
export async function openTarget(name: string): Promise<Target | null> {
  const handle = await pickTarget(name);
  if (handle === null) return null;
  if (handle !== undefined) return onDisk(handle);
  return (await openStream(name)) ?? inMemory(name);
}
