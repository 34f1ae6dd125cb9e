import { mkdir } from "node:fs/promises";
import { toFault, type Fault } from "#protocol/faults/fault.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { engineAnswer } from "./engine-request.ts";
import { READY, type Driver, type TransferTask, type Present } from "./driver.ts";
import { lastLine } from "./last-line.ts";
import { judgeEnd } from "./judge-end.ts";
import { runTool } from "./run-tool.ts";

export interface Moved {
  /** Null when the engine reports that it moved the file. */
  fault: Fault | null;
  /** Time until all of its processes had ended: from the start for a command, from `READY` for a library. */
  tookMs: number;
  /** Time to load a library; null for a command. */
  loadMs: number | null;
  peakBytes: number | null;
  log: string;
}

/** Lets an engine move one file, with an empty scratch folder that is removed afterwards. Throws only when the disk fails. */
export async function runTransfer(
  driver: Driver,
  about: { found: Present; task: TransferTask },
  limits: { timeMs: number; memoryBytes: number; signal: AbortSignal },
): Promise<Moved> {
  const { found, task } = about;
  await removeOwned("scratch", task.scratch);
  await mkdir(task.scratch, { recursive: true, mode: 0o700 });
  try {
    const command = await driver.command(task, found);
    const end = await runTool(command, { ...limits, secrets: secretsOf(task) });
    const { wallMs, readyMs, peakBytes } = end;
    const log = end.log
      .split("\n")
      .filter((line) => !isForUs(line))
      .join("\n");
    const tookMs = wallMs - (readyMs ?? 0);
    return { fault: judgeEnd(driver, end, limits), tookMs, loadMs: readyMs, peakBytes, log };
  } catch (error) {
    return { fault: toFault(error, { op: "bench" }), tookMs: 0, loadMs: null, peakBytes: null, log: "" };
  } finally {
    await removeOwned("scratch", task.scratch);
  }
}

/** Tells whether a line is protocol between Tidemark processes, which the log for people leaves out. */
const isForUs = (line: string): boolean => line === READY || engineAnswer.safeParse(lastLine(line)).success;

function secretsOf({ credential, grant, url, hub }: TransferTask): string[] {
  const { secretAccessKey = "", sessionToken = "" } = credential ?? {};
  return [secretAccessKey, sessionToken, grant ?? "", url ?? "", hub?.credential ?? ""];
}
