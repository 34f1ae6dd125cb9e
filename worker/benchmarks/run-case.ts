import { join } from "node:path";
import { stat } from "node:fs/promises";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import type { BenchCase } from "#protocol/benchmarks/plan-cases.ts";
import type { BenchCaseEnd } from "#protocol/benchmarks/turn.ts";
import { ENGINES } from "#protocol/benchmarks/engines.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { DRIVERS } from "../engines/drivers.ts";
import type { TransferTask, Present } from "../engines/driver.ts";
import { runTransfer } from "../engines/run-transfer.ts";
import { digestOf } from "./payload-file.ts";
import type { StoreSide } from "./store-side.ts";

/** Settings that all cases of one comparison share. */
export interface CaseStage {
  store: StoreSide;
  /** Prefix of every key that is written; ends with `/`. */
  folder: string;
  scratch: string;
  payload: { path: string; sha256: string; sizeBytes: number };
  /** The object that downloads fetch. */
  referenceKey: string;
  partBytes: number;
  connections: number;
  grant: string | null;
  limits: { timeMs: number; memoryBytes: number };
  signal: AbortSignal;
}

/**
 * Runs one case and checks its result. A download is checked by the SHA-256 of its file. An upload is checked by the length of
 * its object, which is then removed. The measured time excludes the check.
 * Faults: CANCELLED, those of our own disk.
 */
export async function runCase(stage: CaseStage, one: BenchCase & { found: Present }): Promise<BenchCaseEnd> {
  const { store, payload, scratch, limits, signal } = stage;
  const { engine, direction, round, found } = one;
  const target = join(scratch, "fetched");
  const key = direction === "up" ? `${stage.folder}${engine}-${round}` : stage.referenceKey;
  const task: TransferTask = {
    direction,
    key,
    path: direction === "up" ? payload.path : target,
    sizeBytes: payload.sizeBytes,
    partBytes: stage.partBytes,
    connections: stage.connections,
    access: store.access,
    credential: await store.credential(),
    hub: store.hub,
    grant: stage.grant,
    url: engine === "aria2" ? await store.signedGet(key, payload.sizeBytes) : null,
    scratch: join(scratch, "home"),
  };
  const moved = await runTransfer(DRIVERS[engine], { found, task }, { ...limits, signal });
  if (moved.fault?.code === "CANCELLED") throw moved.fault;
  try {
    const fault = moved.fault ?? (await (direction === "up" ? checkSent(stage, key) : checkFetched(stage, target)));
    const seconds = moved.tookMs / 1000;
    return {
      engine,
      direction,
      round,
      bytes: payload.sizeBytes,
      tookMs: Math.round(moved.tookMs),
      loadMs: moved.loadMs === null ? null : Math.round(moved.loadMs),
      bytesPerSecond: fault === null && seconds > 0 ? payload.sizeBytes / seconds : null,
      peakBytes: moved.peakBytes,
      fault: fault === null ? null : { subject: ENGINES[engine].title, ...fault.toData() },
      log: moved.log,
    };
  } finally {
    if (direction === "up") await store.remove({ key, signal });
    else await removeOwned("scratch", target);
  }
}

async function checkFetched({ payload }: CaseStage, path: string): Promise<Fault | null> {
  const digest = await digestOf(path);
  if (digest === payload.sha256) return null;
  const sizeBytes = digest === null ? 0 : (await stat(path)).size;
  const detail = `${sizeBytes} of ${payload.sizeBytes} bytes`;
  return new Fault(sizeBytes === payload.sizeBytes ? "CHECKSUM_MISMATCH" : "SIZE_MISMATCH", { op: "bench", detail });
}

/** Checks an uploaded object by its length. A store that cannot be asked fails the case. */
async function checkSent({ store, payload, signal }: CaseStage, key: string): Promise<Fault | null> {
  try {
    const sizeBytes = await store.sizeOf({ key, signal });
    if (sizeBytes === payload.sizeBytes) return null;
    const detail = `${sizeBytes ?? "no"} of ${payload.sizeBytes} bytes are in the bucket`;
    return new Fault(sizeBytes === null ? "NO_SUCH_KEY" : "SIZE_MISMATCH", { op: "bench", detail });
  } catch (error) {
    if (isFault(error) && error.code === "CANCELLED") throw error;
    return toFault(error);
  }
}
