import { mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import type { EngineName } from "#protocol/benchmarks/engines.ts";
import type { BenchCase } from "#protocol/benchmarks/plan-cases.ts";
import type { BenchCaseEnd } from "#protocol/benchmarks/turn.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { diskFault } from "../base/disk-fault.ts";
import { throwIfAborted } from "../base/clock.ts";
import type { Present } from "../engines/driver.ts";
import { assertRoom } from "../base/room.ts";
import { writePayload } from "./payload-file.ts";
import { runCase } from "./run-case.ts";
import type { StoreSide } from "./store-side.ts";

/** Comparison of engines on this machine, at one bucket. */
export interface MatrixJob {
  cases: readonly BenchCase[];
  found: ReadonlyMap<EngineName, Present>;
  /** Prefix of every key that is written; ends with `/`. */
  folder: string;
  /** Folder for the payload and the downloads, with room for two payloads. */
  scratchParent: string;
  sizeBytes: number;
  partBytes: number;
  connections: number;
  grant: string | null;
  limits: { timeMs: number; memoryBytes: number };
  signal: AbortSignal;
  onCase(end: BenchCaseEnd, at: { index: number; of: number }): void | Promise<void>;
}

/**
 * Runs the cases one after the other and leaves nothing on this machine. The caller removes what a failed engine left in the
 * bucket. A case that fails is a result, not a fault.
 * Faults: those of the store before the first case, NO_SPACE, WRITE_FAILED, CANCELLED, those of `onCase`.
 */
export async function runMatrix(store: StoreSide, job: MatrixJob): Promise<BenchCaseEnd[]> {
  const { signal, sizeBytes, scratchParent, folder, partBytes, connections, grant, limits } = job;
  const unwritable = (error: unknown) => {
    throw diskFault(error, { op: "bench", subject: scratchParent, otherwise: "FOLDER_UNWRITABLE" });
  };
  await mkdir(scratchParent, { recursive: true }).catch(unwritable);
  await assertRoom(scratchParent, 2 * sizeBytes);
  const scratch = await mkdtemp(join(scratchParent, "tidemark-bench-")).catch(unwritable);
  try {
    const path = join(scratch, "payload");
    const sha256 = await writePayload(path, { sizeBytes, signal });
    const cases = job.cases.filter(({ engine }) => job.found.has(engine));
    const referenceKey = `${folder}reference`;
    if (cases.some(({ direction }) => direction === "down")) {
      await store.putReference({ path, key: referenceKey, scratch, signal });
    }
    const payload = { path, sha256, sizeBytes };
    const about = { store, folder, scratch, payload, referenceKey, partBytes, connections, grant, limits, signal };
    const ends: BenchCaseEnd[] = [];
    for (const [index, one] of cases.entries()) {
      throwIfAborted(signal);
      const found = job.found.get(one.engine);
      if (found === undefined) continue;
      const end = await runCase(about, { ...one, found });
      ends.push(end);
      await job.onCase(end, { index, of: cases.length });
    }
    return ends;
  } finally {
    await removeOwned("scratch", scratch);
  }
}
