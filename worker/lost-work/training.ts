import type { StepRecords } from "./step-records.ts";
import { openPointFile, type KeptPoint } from "./trained-points.ts";

/**
 * How far training has come on this node, by the record that the program writes itself (step-records.ts), by its word, or by
 * the checkpoints it was seen to write: what is compared after an interruption with where training goes on. Written in place,
 * without waiting for the disk: it survives a kill of every process here, and of a machine that is gone the hub has the last
 * report. What a record says is taken once, and never an older turn of it: what is known since is not undone by it.
 */
export interface Training {
  /** Training of the run has come to this step. A lower one than before counts too: it goes on from there. */
  note(run: string, point: TrainedPoint): void;
  /** A checkpoint of this step was written at that time: what it took per step is the pace of a program that says nothing. */
  see(run: string, point: TrainedPoint): void;
  /** A progress bar of the program shows this step: a bar lags behind, so it is no exact word. A lower one is passed over. */
  show(run: string, point: TrainedPoint): void;
  /** The program ended by itself or was asked to: it had come no further than was noted. */
  end(run: string): void;
  /** The program's word. It may have been long on its way: where the program writes a record, a lower step is old news. */
  hear(run: string, word: TrainedPoint): void;
  /** The program still runs: time passes, and is lost with it. Says nothing of a run of which no step is known. */
  goesOn(run: string, at: number): void;
  /** As noted in this epoch; null when nothing was. */
  of(run: string, epoch: number | null): TrainedPoint | null;
  /**
   * How far it has come in this epoch: as the program said; where it says nothing, as far as its pace carries it from its last
   * checkpoint to when it was last seen at work.
   */
  reached(run: string, epoch: number | null): ReachedPoint | null;
  /** The step that the program said last in this life, by its record; null when it writes none. */
  said(run: string): number | null;
  close(): void;
}

export interface TrainedPoint {
  step: number;
  /** Epoch ms. */
  at: number;
  /** Writer epoch; null while the hub has not said which one it is. */
  epoch: number | null;
  /** Of the last start that this worker saw; kept until the next one. */
  resumed?: Resumed | undefined;
}

export interface ReachedPoint extends TrainedPoint {
  /** The step is reckoned from the pace. */
  isEstimated: boolean;
  /** The program said its steps, or ended in order: it had come to this step and no further. */
  isExact: boolean;
}

/** A start of a program, epoch ms. */
export interface Resumed {
  at: number;
  /** When what it goes on from was written, where that was not safe then; null: what came before is not to be lost any more. */
  fromAt: number | null;
}

interface TrainingParts {
  records: Pick<StepRecords, "read">;
  wallNow(): number;
}

/** `note` and `hear` fault with WRITE_FAILED, NO_SPACE; it is known all the same, until this process ends. */
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
    // Before its first checkpoint a program loads itself and its data: that tells the pace only where nothing better does.
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
    // What the program says itself is exact.
    if (before?.exact !== undefined || point.step <= (before?.step ?? -1)) return;
    note(run, point, { isShown: true, ...(before?.seen !== undefined && { seen: before.seen }) });
  };
  /** A record found after a start is of the epoch of what was known then: the program's life began in it. */
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
      // Not further past its last checkpoint than the next one.
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
        // It still speaks: what it wrote is of the present epoch.
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
