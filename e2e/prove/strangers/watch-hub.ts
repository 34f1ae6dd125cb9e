import { readFileSync } from "node:fs";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, Worker, workerData } from "node:worker_threads";

/**
 * Watches a hub from a thread of its own: the time of `/healthz` and the memory of the process. The kernel's scheduler
 * statistics show how long the hub's thread was runnable without a CPU; other programs took that time. A server in the
 * watching thread is a control. When that server is late too, or the watching thread got no CPU, an answer is not judged. It
 * is judged anyway when the hub's thread itself computed for that long.
 */

interface Late {
  at: string;
  tookMs: number;
  /** Time in which the hub's thread ran. */
  ranMs: number;
  /** Time in which the hub's thread was runnable but got no CPU. */
  queuedMs: number;
}

export interface Watched {
  asked: number;
  /** Answers later than allowed while the machine itself was on time. */
  late: readonly Late[];
  /** Slowest answer; `slowestOwnMs` leaves out unjudged answers and the wait for a CPU. Milliseconds. */
  slowestMs: number;
  slowestOwnMs: number;
  failed: number;
  /** Answers not judged, because the machine itself was late. */
  unjudged: number;
  mostBytes: number;
}

export interface Watch {
  /** Returns the observations since the last call. */
  take(): Promise<Watched>;
  stop(): Promise<void>;
}

const EVERY_MS = 50;
const ASK_EVERY_MS = 20;
export const HEALTH_MS = 200;
/** Slowest answer of the control server for which the hub is still judged, in milliseconds. */
const BUSY_MS = 60;
const GIVE_UP_MS = 30_000;

export function watchHub(about: { url: string; pid: number }): Watch {
  const thread = new Worker(new URL(import.meta.url), { workerData: about });
  return {
    take: () => {
      const { promise, resolve } = Promise.withResolvers<Watched>();
      thread.once("message", resolve);
      thread.postMessage("take");
      return promise;
    },
    stop: async () => {
      await thread.terminate();
    },
  };
}

const nothing = () => ({
  asked: 0,
  late: [] as Late[],
  slowestMs: 0,
  slowestOwnMs: 0,
  failed: 0,
  unjudged: 0,
  mostBytes: 0,
});

const timeOf = (url: string): Promise<number | null> =>
  new Promise((resolve) => {
    const startedAt = performance.now();
    const request = get(url, { timeout: GIVE_UP_MS, agent: false }, (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode === 200 ? performance.now() - startedAt : null));
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(null));
  });

async function watch({ url, pid }: { url: string; pid: number }): Promise<void> {
  const own = createServer((_, response) => response.end("ok"));
  await new Promise<void>((resolve) => own.listen(0, "127.0.0.1", resolve));
  const ownUrl = `http://127.0.0.1:${(own.address() as AddressInfo).port}/`;
  let seen = nothing();
  let isWanted = false;
  parentPort?.on("message", () => (isWanted = true));
  for (;;) {
    const before = readTimes(hubThread(pid));
    const ownBefore = readTimes(OWN_THREAD);
    const looking = timeOf(`${url}/healthz`);
    const over = looking.then(() => true);
    // The control server is only called while the hub answers, with pauses: this thread must not delay itself.
    let busyMs = 0;
    do busyMs = Math.max(busyMs, (await timeOf(ownUrl)) ?? 0);
    while (!(await Promise.race([over, sleep(ASK_EVERY_MS, false)])));
    const tookMs = await looking;
    seen.asked++;
    if (tookMs === null) seen.failed++;
    else {
      seen.slowestMs = Math.max(seen.slowestMs, tookMs);
      const after = readTimes(hubThread(pid));
      const [ranMs, queuedMs] = [after.ranMs - before.ranMs, after.queuedMs - before.queuedMs];
      const ownQueuedMs = readTimes(OWN_THREAD).queuedMs - ownBefore.queuedMs;
      const isInTime = busyMs < BUSY_MS && ownQueuedMs < BUSY_MS;
      if (isInTime || ranMs > HEALTH_MS) {
        seen.slowestOwnMs = Math.max(seen.slowestOwnMs, ranMs, isInTime ? tookMs - queuedMs : 0);
        const at = new Date().toISOString();
        if (tookMs > HEALTH_MS) seen.late.push({ at, tookMs, ranMs, queuedMs });
      } else seen.unjudged++;
    }
    const status = /VmRSS:\s+(\d+) kB/.exec(readStatus(pid));
    seen.mostBytes = Math.max(seen.mostBytes, Number(status?.[1] ?? 0) * 1024);
    // Replies after at least one observation, however short the watched work was.
    if (isWanted) {
      parentPort?.postMessage(seen);
      [seen, isWanted] = [nothing(), false];
    }
    await sleep(EVERY_MS);
  }
}

/** Returns the path of the process's main thread, which runs the event loop. */
const hubThread = (pid: number): string => `${pid}/task/${pid}`;
const OWN_THREAD = "thread-self";

function readTimes(thread: string): { ranMs: number; queuedMs: number } {
  try {
    const [ran = 0, queued = 0] = readFileSync(`/proc/${thread}/schedstat`, "utf8").split(" ").map(Number);
    return { ranMs: ran / 1e6, queuedMs: queued / 1e6 };
  } catch {
    return { ranMs: 0, queuedMs: 0 };
  }
}

function readStatus(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}

if (parentPort !== null && workerData !== null) await watch(workerData as { url: string; pid: number });
