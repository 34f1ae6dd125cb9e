import { readFile } from "node:fs/promises";

/** Peak memory of a browser's processes, as proportional set size (PSS) in bytes. */
export interface Memory {
  /** Peak of the largest renderer process. */
  tabBytes: number;
  /** Peak of all processes of the browser together. */
  browserBytes: number;
}

const LOOK_EVERY_MS = 500;

async function pssOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024;
}

export interface BrowserProcess {
  id: number;
  type: string;
}

/** Samples the memory until `stop`, which returns the peaks. */
export function watchMemory(processes: () => Promise<readonly BrowserProcess[]>): { stop: () => Promise<Memory> } {
  const most: Memory = { tabBytes: 0, browserBytes: 0 };
  const look = async (): Promise<void> => {
    const held = await Promise.all((await processes()).map(async ({ id, type }) => ({ type, bytes: await pssOf(id) })));
    const tabs = held.filter(({ type }) => type === "renderer").map(({ bytes }) => bytes);
    most.tabBytes = Math.max(most.tabBytes, ...tabs);
    most.browserBytes = Math.max(
      most.browserBytes,
      held.reduce((sum, { bytes }) => sum + bytes, 0),
    );
  };
  let looking = Promise.resolve();
  const timer = setInterval(() => {
    looking = looking.then(look).catch(() => undefined);
  }, LOOK_EVERY_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      await looking;
      return most;
    },
  };
}
