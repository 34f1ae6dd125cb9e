import { renameSync, writeFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

/**
 * Preloaded into a hub (`node --import`): finds for how long its event loop is held. A timer of one millisecond looks at the clock
 * and at the processor time of this thread; one that comes late says how long the loop stood still, and the processor time
 * says whether this thread worked meanwhile or the machine had no time for it. Tells both, and begins anew, at each SIGUSR2.
 */
export interface Held {
  /** Counts up with each time it is asked. */
  number: number;
  /** The longest the loop stood still, and the longest the thread worked without a pause, ms. */
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
    // Whole when it is there.
    writeFileSync(`${file}.new`, JSON.stringify(held));
    renameSync(`${file}.new`, file);
    held = { number: held.number, stoodMs: 0, workedMs: 0 };
  });
}
