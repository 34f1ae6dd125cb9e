import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import * as z from "zod";
import { diskFault } from "../base/disk-fault.ts";

const points = z.record(
  z.string(),
  z.object({
    step: z.number(),
    at: z.number(),
    epoch: z.number().nullable(),
    resumed: z.object({ at: z.number(), fromAt: z.number().nullable() }).optional(),
    /** Up to where the program's record was read. */
    taken: z.object({ id: z.string(), turn: z.number() }).optional(),
    /** When `step` was reached; `at` goes on while the program runs. */
    stepAt: z.number().optional(),
    /** Milliseconds for a step, between the last two checkpoints. */
    paceMs: z.number().positive().optional(),
    /** The last checkpoint that was seen in this life of the program, and when it was written. */
    seen: z.object({ step: z.number(), at: z.number() }).optional(),
    /** Where this life of the program began. */
    began: z.object({ step: z.number(), at: z.number() }).optional(),
    /** Steps between the last two checkpoints: further than that past one there would be another. */
    everySteps: z.number().positive().optional(),
    /** A progress bar shows the step; it lags behind. */
    isShown: z.boolean().optional(),
    /** `said` by the program, or ended in `order`. */
    exact: z.enum(["said", "order"]).optional(),
  }),
);
/** What is kept of one run. */
export type KeptPoint = z.infer<typeof points>[string];

/** The points of all runs, in memory and in one small file. */
export interface PointFile {
  known: Map<string, KeptPoint>;
  /** Writes all points in place, without waiting for the disk. Faults: WRITE_FAILED, NO_SPACE. */
  write(): void;
  /** Writes where that is possible. */
  writeIfPossible(): void;
  close(): void;
}

/** Reads the file at `path`, which need not exist. No faults. */
export function openPointFile(path: string): PointFile {
  const before = readText(path);
  const known = new Map<string, KeptPoint>(Object.entries(parsePoints(before)));
  let fd: number | null = null;
  let writtenBytes = before.length;
  const write = () => {
    try {
      fd ??= openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
      // Blanks over the rest of a longer text: one write, so that no kill leaves half of two.
      const text = JSON.stringify(Object.fromEntries(known)).padEnd(writtenBytes, " ");
      writtenBytes = text.length;
      writeSync(fd, text, 0, "latin1");
    } catch (error) {
      throw diskFault(error, { op: "step", subject: path, otherwise: "WRITE_FAILED" });
    }
  };
  return {
    known,
    write,
    writeIfPossible: () => {
      try {
        write();
      } catch {
        // A full disk must not end what only reads or keeps the time; the next step that is told says so.
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
