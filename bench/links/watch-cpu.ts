import { readFile } from "node:fs/promises";
import { percentile } from "./recount.ts";

/** Samples how busy all cores of this machine are, whatever runs on them. */

const EVERY_MS = 5_000;

export function watchCpu(): { end: () => { mean: number; p90: number } } {
  const shares: number[] = [];
  let before: { busy: number; all: number } | null = null;
  const look = async (): Promise<void> => {
    const now = await readTicks();
    if (before !== null && now.all > before.all) shares.push((now.busy - before.busy) / (now.all - before.all));
    before = now;
  };
  const timer = setInterval(() => void look(), EVERY_MS).unref();
  void look();
  return {
    end: () => {
      clearInterval(timer);
      const mean = shares.reduce((sum, share) => sum + share, 0) / Math.max(1, shares.length);
      return { mean, p90: percentile(shares, 90) ?? 0 };
    },
  };
}

/** Returns the clock ticks since boot, of all cores together: proc(5), /proc/stat. */
async function readTicks(): Promise<{ busy: number; all: number }> {
  const [line = ""] = (await readFile("/proc/stat", "utf8")).split("\n");
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number);
  const all = ticks.reduce((sum, one) => sum + one, 0);
  const [, , , idle = 0, waiting = 0] = ticks;
  return { busy: all - idle - waiting, all };
}
