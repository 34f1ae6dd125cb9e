import { sentenceOf, type FaultData } from "#protocol/faults/fault.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import type { Terminal } from "#worker/command-line/terminal.ts";

/** `warn`: it works, but not as well as it could. `skipped`: it could not be checked. */
export type Outcome = "ok" | "warn" | "failed" | "skipped";

/** Result of one check of `tidemark doctor`. */
export interface Finding {
  /** Subject of the check in two or three words; the same at every run. */
  check: string;
  outcome: Outcome;
  says: string;
  /** Action that fixes it, or how to run a check that was skipped. Null when there is nothing to do. */
  fix: string | null;
  fault: FaultData | null;
}

export const fine = (check: string, says: string): Finding => ({ check, outcome: "ok", says, fix: null, fault: null });

export const doubtful = (check: string, told: { says: string; fix: string }): Finding => ({
  check,
  outcome: "warn",
  ...told,
  fault: null,
});

export const skipped = (check: string, told: { says: string; fix: string }): Finding => ({
  check,
  outcome: "skipped",
  ...told,
  fault: null,
});

/**
 * Returns the finding of a Fault: the first half of its sentence is the result, the second half the fix unless `fix` is
 * given.
 */
export function failed(check: string, fault: FaultData, fix?: string): Finding {
  const { next } = FAULTS[fault.code];
  const says = sentenceOf(fault).slice(0, -next.length).trimEnd();
  return { check, outcome: "failed", says, fix: fix ?? next, fault };
}

const OUTCOME_COLUMN = 7;
const CHECK_COLUMN = 24;

/** Prints a finding as two columns and a sentence, with the fix below. */
export function showFinding(terminal: Pick<Terminal, "result">, finding: Finding): void {
  const { check, outcome, says, fix } = finding;
  const left = `${outcome.padEnd(OUTCOME_COLUMN)}  ${check.padEnd(CHECK_COLUMN)}`;
  const more = fix === null ? [] : [`${"".padEnd(OUTCOME_COLUMN)}  ${"".padEnd(CHECK_COLUMN)}  -> ${fix}`];
  terminal.result([`${left}  ${says}`, ...more], { type: "check", ...finding });
}
