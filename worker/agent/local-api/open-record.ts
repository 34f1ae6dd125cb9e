import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { RecordAnswer, recordInput } from "#protocol/local-api/local.ts";
import type { Agent } from "../agent-assemble.ts";
import { STEP_RECORD_VERSION } from "#worker/lost-work/parse-step-record.ts";
import { whichRun } from "./which-run.ts";

/**
 * Returns the file in which a program writes its last step itself. Only runs that this worker writes have one, so that no
 * caller can fill the disk with names. Faults: BAD_INPUT, NOT_FOUND, NO_SPACE, WRITE_FAILED.
 */
export function openRecord(
  { options, runs, stepRecords }: Pick<Agent, "options" | "runs" | "stepRecords">,
  input: z.infer<typeof recordInput>,
): RecordAnswer {
  const run = whichRun(options.watches, { run: input.run });
  if (runs.get(run) === undefined) {
    throw new Fault("NOT_FOUND", { op: "step", subject: run, detail: "this worker writes no such run" });
  }
  return { run, path: stepRecords.keep(run), version: STEP_RECORD_VERSION };
}
