import { isTimeStep, stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import type { RunBacklog, TransferProgress } from "#protocol/wire/reports.ts";
import type { Engine } from "../transfer/engine.ts";
import { movementOf, stalledMsOf } from "../transfer/progress/movement-of.ts";
import { Fault, type FaultData } from "#protocol/faults/fault.ts";
import type { Capture } from "../capture/capture.ts";
import { isOpen } from "../capture/open-captures.ts";
import type { Ledger } from "../capture/ledger.ts";
import type { Uplink } from "../capture/uplink.ts";
import { idleMsSince } from "../lost-work/idle-since.ts";
import type { Point } from "../lost-work/beginning.ts";
import type { Training } from "../lost-work/training.ts";
import { leastIntervalMs } from "#protocol/history/sustain.ts";
import type { Run, Runs } from "../capture/runs.ts";
import type { Uploader } from "./uploader-parts.ts";

/** Computes what is not safe yet, for the report to the hub and for the last message before an exit. */
export interface BacklogParts {
  ledger: Ledger;
  runs: Runs;
  uploader: Uploader;
  training: Training;
  uplink: Uplink;
}

export const isUnsafe = (item: Pick<Capture, "state">): boolean =>
  ["waiting", "running", "paused", "failed"].includes(item.state);

/** Returns one entry for each watched run. */
export async function readBacklog(parts: BacklogParts): Promise<RunBacklog[]> {
  return Promise.all(parts.runs.all().map((run) => backlogOf(parts, run)));
}

async function backlogOf({ ledger, uploader, training, uplink }: BacklogParts, run: Run): Promise<RunBacklog> {
  const waiting = ledger.all().filter((item) => item.run === run.name && isUnsafe(item));
  const safe = ledger.safe(run.name);
  const piece = ledger.piece(run.name);
  const unsafe = [
    ...waiting.map(({ files, sizeBytes, capturedAt }) => ({ files: files.length, sizeBytes, at: capturedAt })),
    ...(piece === null ? [] : [piece]),
  ];
  const newest = waiting
    // A waiting checkpoint of an earlier line is not the newest of the run, however high its step is.
    .filter(({ role, epoch }) => role === undefined && (epoch ?? run.claim?.epoch) === (run.claim?.epoch ?? epoch))
    .reduce<Point | null>(
      (best, { step, capturedAt, place }) => {
        const one = { step, at: capturedAt, source: stepSourceOf(place) };
        return best === null || step > best.step ? one : best;
      },
      laterOf(run.seen, piece),
    );
  const trained = training.of(run.name, run.claim?.epoch ?? null);
  const reached = training.reached(run.name, run.claim?.epoch ?? null);
  const local = newest ?? safe;
  const startedAt = await ledger.runStartedAt(run.name);
  const active = uploader.active?.capture.run === run.name ? uploader.active.counters : null;
  const sent = waiting
    .filter(({ id }) => uploader.uncommitted.has(id))
    .reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return {
    run: run.name,
    writerEpoch: run.claim?.epoch ?? null,
    unsafeCheckpoints: unsafe.length,
    unsafeFiles: unsafe.reduce((sum, { files }) => sum + files, 0),
    unsafeBytes: unsafe.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    movedBytes: (active?.bytesSure ?? 0) + sent + (piece?.sizeBytes ?? 0),
    oldestUnsafeAt: unsafe.length === 0 ? null : Math.min(...unsafe.map(({ at }) => at)),
    safeStep: safe?.step ?? null,
    safeAt: safe?.at ?? null,
    safeBytes: safe?.sizeBytes ?? 0,
    localStep: local?.step ?? null,
    localAt: local?.at ?? null,
    ...(safe !== null && isTimeStep(safe) && { isSafeByTime: true as const }),
    ...(local !== null && isTimeStep(local) && { isLocalByTime: true as const }),
    startedAt,
    intervalMs: ledger.intervalMs(run.name),
    trainedStep: trained?.step ?? null,
    trainedAt: trained === null ? null : Math.round(trained.at),
    ...(reached?.isExact === false && { isStepUncertain: true }),
    ...(reached?.isEstimated === true && { estimatedStep: reached.step }),
    idleMs: idleMsSince(safe?.at ?? startedAt, trained?.resumed),
    // Before the first one is safe, the size of a waiting one counts.
    leastIntervalMs: leastIntervalMs(safe?.sizeBytes ?? unsafe.at(-1)?.sizeBytes ?? 0, uplink.bytesPerSecond()),
  };
}

/** Returns why a capture whose bytes are all sent is not safe yet. */
const openFault = ({ sourcePath }: Capture): FaultData => {
  const detail = "its bytes are sent; more files of its step may follow, until a second step or some time without one";
  return new Fault("NOT_FINISHED", { op: "commit", subject: sourcePath, detail }).toData();
};

function laterOf(seen: Point | null, piece: Point | null): Point | null {
  if (piece === null || (seen !== null && seen.step >= piece.step)) return seen;
  return { step: piece.step, at: piece.at, source: piece.source };
}

/** Returns the progress of every upload that has not ended. */
export function uploadProgress({ ledger, uploader }: BacklogParts, engine: Engine | null): TransferProgress[] {
  const { active } = uploader;
  return ledger
    .all()
    .filter(({ state }) => state === "waiting" || state === "running" || state === "paused")
    .map((item) => {
      const isActive = active?.capture.id === item.id;
      const late = uploader.uncommitted.get(item.id);
      const counters = (isActive ? active.counters : late?.counters) ?? null;
      return {
        id: item.transferId,
        direction: "upload" as const,
        state: item.state,
        checkpointId: item.id,
        run: item.run,
        step: item.step,
        ...movementOf(counters, late === undefined ? engine : null),
        bytesTotal: item.sizeBytes,
        filesTotal: item.files.length,
        startedAt: item.startedAt,
        retries: item.retries + (late === undefined ? (counters?.retries ?? 0) : 0),
        triedAgain: counters?.triedAgain() ?? [],
        stalledMs: late === undefined ? stalledMsOf(counters) : null,
        fault:
          late?.fault?.toData() ??
          (late !== undefined && isOpen(item) ? openFault(item) : null) ??
          counters?.lastFault?.toData() ??
          (isActive ? (uploader.waitingFor?.toData() ?? null) : item.fault),
        startedBy: item.startedBy,
      };
    });
}
