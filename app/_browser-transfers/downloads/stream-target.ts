import { Fault } from "#protocol/faults/fault.ts";
import { newRequestId } from "../../_hub/actions/use-action.ts";
import type { Target } from "./target.ts";

/**
 * Feeds a download in the browser's own list through `public/download-worker.js`. Bytes go in order, and a download cannot
 * restart.
 */

const SCRIPT = "/download-worker.js";
/** Scope that holds no pages, so that the worker intercepts nothing else. */
const SCOPE = "/downloads-of-this-browser/";
const STILL_HERE_EVERY_MS = 10_000;
const READY_WITHIN_MS = 10_000;

type FromWorker = { kind: "ready" } | { kind: "pull" } | { kind: "cancel" };

/** Returns the active service worker; null where the browser has none or does not start it. */
async function startWorker(): Promise<ServiceWorker | null> {
  const workers = (navigator as { serviceWorker?: ServiceWorkerContainer }).serviceWorker;
  if (workers === undefined) return null;
  try {
    const registration = await workers.register(SCRIPT, { scope: SCOPE });
    if (registration.active !== null) return registration.active;
    const coming = registration.installing ?? registration.waiting;
    if (coming === null) return null;
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (coming.state === "activated" || coming.state === "redundant") resolve();
      };
      coming.addEventListener("statechange", look);
      look();
    });
    return registration.active;
  } catch {
    return null;
  }
}

export async function openStream(name: string): Promise<Target | null> {
  const worker = await startWorker();
  if (worker === null) return null;
  const id = newRequestId();
  const { port1: port, port2 } = new MessageChannel();
  const state = { isOver: false, wanted: 0, hasBegun: false };
  let wake: (() => void) | null = null;
  const isReady = new Promise<boolean>((resolve) => {
    setTimeout(() => resolve(false), READY_WITHIN_MS);
    port.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
      if (data.kind === "ready") resolve(true);
      else if (data.kind === "pull") state.wanted++;
      else state.isOver = true;
      wake?.();
    });
  });
  port.start();
  worker.postMessage({ id, name }, [port2]);
  if (!(await isReady)) return null;

  const frame = document.createElement("iframe");
  frame.hidden = true;
  frame.title = "Download";
  frame.src = SCOPE + id;
  document.body.append(frame);
  const beat = setInterval(() => worker.postMessage({ id, name }), STILL_HERE_EVERY_MS);
  const end = (): void => {
    clearInterval(beat);
    port.close();
    setTimeout(() => frame.remove(), STILL_HERE_EVERY_MS);
  };
  /** Waits until the browser requests more bytes (back-pressure). */
  const pulled = async (): Promise<void> => {
    while (state.wanted === 0 && !state.isOver) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (state.isOver)
      throw new Fault("CANCELLED", { op: "download", detail: "given up in the browser's own downloads" });
    state.wanted--;
  };
  return {
    mode: "stream",
    writeAt: null,
    write: async (bytes) => {
      await pulled();
      state.hasBegun = true;
      port.postMessage({ kind: "bytes", bytes }, [bytes.buffer]);
    },
    restart: async () => {
      const detail = "a download of the browser itself cannot be resumed; start it again";
      if (state.hasBegun) throw new Fault("WRITE_FAILED", { op: "download", subject: name, detail });
    },
    close: async () => {
      await pulled();
      port.postMessage({ kind: "end" });
      end();
    },
    abort: async () => {
      state.isOver = true;
      wake?.();
      port.postMessage({ kind: "give up" });
      end();
    },
  };
}
