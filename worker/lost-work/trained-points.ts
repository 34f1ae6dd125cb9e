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
    /** Last turn of the program's step record that was read. */
    taken: z.object({ id: z.string(), turn: z.number() }).optional(),
    /** When `step` was reached; `at` is later while the program runs on. */
    stepAt: z.number().optional(),
    /** Milliseconds per step, between the last two checkpoints. */
    paceMs: z.number().positive().optional(),
    /** The last checkpoint seen since the program's last start, and when it was written. */
    seen: z.object({ step: z.number(), at: z.number() }).optional(),
    /** The point at which the program last started. */
    began: z.object({ step: z.number(), at: z.number() }).optional(),
    /** Steps between the last two checkpoints, an upper bound for the steps since the last one. */
    everySteps: z.number().positive().optional(),
    /** The step comes from a progress bar, which lags behind. */
    isShown: z.boolean().optional(),
    /** Why the step is exact: the program reports its steps (`said`), or has ended in an orderly way (`order`). */
    exact: z.enum(["said", "order"]).optional(),
  }),
);
/** Stored point of one run. */
export type KeptPoint = z.infer<typeof points>[string];

/** The points of all runs, in memory and in one small file. */
export interface PointFile {
  known: Map<string, KeptPoint>;
  /** Writes all points in place, without fsync. @throws Fault WRITE_FAILED, NO_SPACE */
  write(): void;
  /** Writes all points; ignores failures. */
  writeIfPossible(): void;
  close(): void;
}

/** Reads the file at `path`, which need not exist. Never throws. */
export function openPointFile(path: string): PointFile {
  const before = readText(path);
  const known = new Map<string, KeptPoint>(Object.entries(parsePoints(before)));
  let fd: number | null = null;
  let writtenBytes = before.length;
  const write = () => {
    try {
      fd ??= openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
      // Padding overwrites a longer earlier text in the same write, so that a kill leaves no mixture of two texts.
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
        // A full disk must not fail a mere read or time update; the next `write` of a step reports it.
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

/** Returns the points in the text; none at the first start, or after a power cut damaged the file. */
function parsePoints(text: string): z.infer<typeof points> {
  try {
    return points.parse(JSON.parse(text));
  } catch {
    return {};
  }
}
