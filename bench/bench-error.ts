import { CannotRun } from "#e2e/link/cannot-run.ts";

/** Why a benchmark cannot run, as a sentence for the person who started it. */
export class BenchError extends CannotRun {
  override readonly name = "BenchError";
}
