import { renameSync, writeFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

/**
 * Result of the probe, which is preloaded into a hub (`node --import`) and measures how long its event loop is blocked. A 1 ms
 * timer compares wall time and the thread's CPU time. A late timer shows how long the loop stood still. CPU time shows whether
 * this thread was busy, or got no CPU. SIGUSR2 writes the result and resets it.
 */
export interface Held {
  /** Number of the result, which increases with each SIGUSR2. */
  number: number;
  /** Longest time without a loop turn; `workedMs` is the longest uninterrupted CPU time. Milliseconds. */
  stoodMs: number;
  workedMs: number;
}

const EVERY_MS = 1;
const file = process.env["HOLD_PROBE_FILE"];
if (isMainThread && file !== undefined && process.argv[1]?.includes("http/main.") === true) {
  const threadMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let [at, cpuAt] = [performance.now(), threadMs()];
  let held: Held = { number: 0, stoodMs: 0, workedMs: 0 };
  setInterval(() => {
    const [now, cpuNow] = [performance.now(), threadMs()];
    const stoodMs = Math.max(0, now - at - EVERY_MS);
    held.stoodMs = Math.max(held.stoodMs, stoodMs);
    held.workedMs = Math.max(held.workedMs, Math.min(stoodMs, cpuNow - cpuAt));
    [at, cpuAt] = [now, cpuNow];
  }, EVERY_MS).unref();
  process.on("SIGUSR2", () => {
    held.number++;
    // Written by rename, so that readers never see half a file.
    writeFileSync(`${file}.new`, JSON.stringify(held));
    renameSync(`${file}.new`, file);
    held = { number: held.number, stoodMs: 0, workedMs: 0 };
  });
}
