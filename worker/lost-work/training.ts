import type { StepRecords } from "./step-records.ts";
import { openPointFile, type KeptPoint } from "./trained-points.ts";

/**
 * Tracks how far training has come on this node: by the program's step record (step-records.ts), by steps it reports through
 * the local API, or by the checkpoints it writes. After an interruption, this is compared with the step that training
 * resumes from. The file is written without fsync: it survives a kill of all processes. If the machine is lost, the hub has
 * the last report. Each turn of a record is read once and older turns never, so a record cannot undo newer knowledge.
 */
export interface Training {
  /** Records that training has reached a step. A lower step than before counts too: training continues from there. */
  note(run: string, point: TrainedPoint): void;
  /** Records that a checkpoint was written at that time. Checkpoints give the pace of a program that reports no steps. */
  see(run: string, point: TrainedPoint): void;
  /** Records the step in a progress bar. It is not exact, because bars lag behind; a lower step is ignored. */
  show(run: string, point: TrainedPoint): void;
  /** Records that the program ended by itself or on request, so that the step recorded is exact. */
  end(run: string): void;
  /** Records a step that the program reports. If the program also writes a record, a lower step is outdated and ignored. */
  hear(run: string, word: TrainedPoint): void;
  /** Records that the program still runs, so that a later loss includes this time. Ignored for a run without a known step. */
  goesOn(run: string, at: number): void;
  /** Returns the point recorded in this epoch; null without one. */
  of(run: string, epoch: number | null): TrainedPoint | null;
  /**
   * Returns how far training has come in this epoch: as the program reported, or else extrapolated with its pace from its
   * last checkpoint to the time it was last seen running.
   */
  reached(run: string, epoch: number | null): ReachedPoint | null;
  /** Returns the last step in the program's record since its last start; null when it writes no record. */
  said(run: string): number | null;
  close(): void;
}

export interface TrainedPoint {
  step: number;
  /** Epoch ms. */
  at: number;
  /** Writer epoch; null until the hub has assigned one. */
  epoch: number | null;
  /** The last start of the program that this worker saw; kept until the next one. */
  resumed?: Resumed | undefined;
}

export interface ReachedPoint extends TrainedPoint {
  /** The step is extrapolated, or read from a progress bar. */
  isEstimated: boolean;
  /** This is the last step reached: the program reports its steps, or ended in an orderly way. */
  isExact: boolean;
}

/** A start of a program, epoch ms. */
export interface Resumed {
  at: number;
  /** When the resumed checkpoint was written, if it was not safe at the start; null: work before the start cannot be lost. */
  fromAt: number | null;
}

interface TrainingParts {
  records: Pick<StepRecords, "read">;
  wallNow(): number;
}

/** Opens the file. `note` and `hear` throw WRITE_FAILED or NO_SPACE, but still keep the point in memory. */
export function openTraining(path: string, { records, wallNow }: TrainingParts): Training {
  const { known, write, writeIfPossible, close } = openPointFile(path);
  const note = (run: string, point: TrainedPoint, more: Partial<KeptPoint> = {}) => {
    const { step, at, epoch } = point;
    const before = known.get(run);
    const taken = before?.taken;
    const resumed = point.resumed ?? before?.resumed;
    const paceMs = more.paceMs ?? before?.paceMs;
    const everySteps = more.everySteps ?? before?.everySteps;
    const began = point.resumed === undefined ? before?.began : { step, at };
    known.set(run, {
      step,
      at,
      epoch,
      stepAt: at,
      ...(taken !== undefined && { taken }),
      ...(resumed !== undefined && { resumed }),
      ...(paceMs !== undefined && { paceMs }),
      ...(everySteps !== undefined && { everySteps }),
      ...(began !== undefined && { began }),
      ...(more.exact !== undefined && { exact: more.exact }),
      ...(more.seen !== undefined && { seen: more.seen }),
      ...(more.isShown !== undefined && { isShown: more.isShown }),
    });
    write();
  };
  const see = (run: string, point: TrainedPoint) => {
    const before = takeRecord(run).point;
    const { step, at } = point;
    const isOfEarlierLife = before?.resumed !== undefined && at < before.resumed.at;
    if (before === undefined || isOfEarlierLife) {
      if (step > (before?.step ?? -1)) note(run, point);
      return;
    }
    if (before.seen !== undefined && before.seen.step >= step) return;
    // The time to the first checkpoint includes loading of program and data, so it gives the pace only without a better one.
    const since = before.seen ?? (before.paceMs === undefined ? (before.began ?? null) : null);
    const [steps, tookMs] = since === null ? [0, 0] : [step - since.step, at - since.at];
    const more = { seen: { step, at }, ...(steps > 0 && tookMs > 0 && { paceMs: tookMs / steps, everySteps: steps }) };
    if (step > before.step) note(run, point, { ...more, ...(before.exact === "said" && { exact: "said" }) });
    else {
      Object.assign(before, more);
      write();
    }
  };
  const show = (run: string, point: TrainedPoint) => {
    const before = takeRecord(run).point;
    // Steps that the program reports are exact and win over a bar.
    if (before?.exact !== undefined || point.step <= (before?.step ?? -1)) return;
    note(run, point, { isShown: true, ...(before?.seen !== undefined && { seen: before.seen }) });
  };
  /** Reads the program's record. A new record belongs to the epoch known so far, in which the program was started. */
  const takeRecord = (run: string): { point: KeptPoint | undefined; isRecorded: boolean } => {
    const point = known.get(run);
    const record = records.read(run);
    if (record === null) return { point, isRecorded: false };
    const { id, turn, step } = record;
    if (point?.taken?.id === id && turn <= point.taken.turn) return { point, isRecorded: true };
    const at = Math.min(record.at, wallNow());
    const epoch = point?.epoch ?? null;
    const fresh: KeptPoint = { ...point, step, at, stepAt: at, epoch, taken: { id, turn }, exact: "said" };
    known.set(run, fresh);
    writeIfPossible();
    return { point: fresh, isRecorded: true };
  };
  return {
    of: (run, epoch) => {
      const { point } = takeRecord(run);
      if (point === undefined || (point.epoch !== null && point.epoch !== epoch)) return null;
      const { step, at, resumed } = point;
      return { step, at, epoch: point.epoch, ...(resumed !== undefined && { resumed }) };
    },
    note,
    see,
    show,
    end: (run) => {
      const { point } = takeRecord(run);
      if (point === undefined || point.exact !== undefined) return;
      point.at = point.stepAt ?? point.at;
      point.exact = "order";
      writeIfPossible();
    },
    reached: (run, epoch) => {
      const { point } = takeRecord(run);
      if (point === undefined || (point.epoch !== null && point.epoch !== epoch)) return null;
      const { step, at, resumed, stepAt = at, paceMs, exact, isShown = false, seen } = point;
      const bySpeed = exact !== undefined || paceMs === undefined ? 0 : Math.floor((at - stepAt) / paceMs);
      // The estimate ends at the next expected checkpoint, which would have been seen.
      const most = (seen?.step ?? step) + (point.everySteps ?? Infinity);
      const more = Math.max(0, Math.min(bySpeed, most - step));
      return {
        step: step + more,
        at,
        epoch: point.epoch,
        isEstimated: more > 0 || (isShown && exact === undefined),
        isExact: exact !== undefined,
        ...(resumed !== undefined && { resumed }),
      };
    },
    said: (run) => records.read(run)?.step ?? null,
    hear: (run, word) => {
      const { point, isRecorded } = takeRecord(run);
      if (point === undefined || !isRecorded || word.step > point.step) {
        note(run, word, { exact: "said" });
      } else if (point.epoch !== word.epoch) {
        // The program still reports, so its record belongs to the current epoch.
        point.epoch = word.epoch;
        write();
      }
    },
    goesOn: (run, at) => {
      const { point } = takeRecord(run);
      if (point === undefined || at <= point.at) return;
      point.at = at;
      writeIfPossible();
    },
    close,
  };
}
