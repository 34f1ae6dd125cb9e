import { systemClock } from "../base/clock.ts";
import { removeOwned, renameOwned } from "../base/disk/change-disk.ts";
import { diskFault } from "../base/disk-fault.ts";
import { open } from "node:fs/promises";
import { NEW_FILE } from "../host/state-file.ts";
import { metricsOf } from "../local-api/write-metrics.ts";
import type { Agent } from "./agent-assemble.ts";
import { readStatus } from "./local-api/read-state.ts";

const EVERY_MS = 5_000;
/** Readable by the user of a node exporter. */
const MODE = 0o644;

/**
 * Writes what `GET /v1/metrics` answers to the file of `--metrics-file`, every five seconds and at the end, for the textfile
 * collector of a node exporter. A file that cannot be written is reported and tried again.
 */
export async function keepMetricsFile(agent: Agent): Promise<void> {
  const { signal, reporter, options } = agent;
  const path = options.metricsFile;
  if (path === null) return;
  while (!signal.aborted) {
    await writeMetrics(agent, path).catch(reporter.waitingFor);
    await systemClock.sleep(EVERY_MS, signal).catch(() => undefined);
  }
  await writeMetrics(agent, path).catch(reporter.waitingFor);
}

/** @throws Fault NO_SPACE, WRITE_FAILED */
async function writeMetrics(agent: Agent, path: string): Promise<void> {
  const text = metricsOf(await readStatus(agent));
  const fresh = `${path}.${process.pid}.tidemark-new`;
  try {
    // Left by a killed process, or planted by another user.
    await removeOwned("fresh-file", fresh);
    const handle = await open(fresh, NEW_FILE, MODE);
    try {
      await handle.writeFile(text);
    } finally {
      await handle.close();
    }
    await renameOwned("fresh-file", fresh, path);
  } catch (error) {
    // The next process would write under another name.
    await removeOwned("fresh-file", fresh).catch(() => undefined);
    throw diskFault(error, { op: "--metrics-file", subject: path, otherwise: "WRITE_FAILED" });
  }
}
