import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import * as z from "zod";
import { diskFault } from "../engine/disk-fault.ts";

/**
 * How far training has come on this node, by the word of the program itself or by the checkpoints it was seen to write: what
 * is compared after an interruption with where training goes on. Written in place at every step, without waiting for the
 * disk: it survives a kill of every process here, and of a machine that is gone the hub has the last report.
 */
export interface Training {
  /** Training of the run has come to this step. A lower one than before counts too: it goes on from there. */
  note(run: string, point: TrainedPoint): void;
  /** The program still runs: time passes, and is lost with it. Says nothing of a run of which no step is known. */
  goesOn(run: string, at: number): void;
  /** As noted in this epoch; null when nothing was. */
  of(run: string, epoch: number | null): TrainedPoint | null;
  close(): void;
}

export interface TrainedPoint {
  step: number;
  /** Epoch ms. */
  at: number;
  /** Writer epoch; null while the hub has not said which one it is. */
  epoch: number | null;
}

const points = z.record(z.string(), z.object({ step: z.number(), at: z.number(), epoch: z.number().nullable() }));

/** `note` faults with WRITE_FAILED, NO_SPACE; it is known all the same, until this process ends. */
export function openTraining(path: string): Training {
  const before = readText(path);
  const known = new Map<string, TrainedPoint>(Object.entries(parsePoints(before)));
  let fd: number | null = null;
  let writtenBytes = before.length;
  const write = () => {
    try {
      fd ??= openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
      // Blanks over the rest of a longer text: one write, so that no kill leaves half of two.
      const text = JSON.stringify(Object.fromEntries(known)).padEnd(writtenBytes, " ");
      writtenBytes = text.length;
      writeSync(fd, text, 0, "latin1");
    } catch (error) {
      throw diskFault(error, { op: "step", subject: path, otherwise: "WRITE_FAILED" });
    }
  };
  return {
    of: (run, epoch) => {
      const point = known.get(run);
      return point !== undefined && (point.epoch === null || point.epoch === epoch) ? point : null;
    },
    note: (run, point) => {
      known.set(run, point);
      write();
    },
    goesOn: (run, at) => {
      const point = known.get(run);
      if (point === undefined || at <= point.at) return;
      point.at = at;
      try {
        write();
      } catch {
        // A full disk must not end what only keeps the time; the next step that is told says so.
      }
    },
    close: () => {
      if (fd !== null) closeSync(fd);
      fd = null;
    },
  };
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** Nothing is known after a first start, or when a power cut tore it. */
function parsePoints(text: string): z.infer<typeof points> {
  try {
    return points.parse(JSON.parse(text));
  } catch {
    return {};
  }
}
