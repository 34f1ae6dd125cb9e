import { isSameBranch, type LineBranch, type UnopenedLine } from "#protocol/checkpoint/line-branch.ts";
import type { RunName } from "#protocol/base/names.ts";
import { isOfOneUnopened, type Ledger } from "../capture/ledger.ts";
import type { Runs } from "../capture/runs.ts";
import type { ConsoleReporter } from "./console-reporter.ts";

/** Parts that open new lines of training as epochs, also those that began while the hub was away. */
interface LineParts {
  runs: Pick<Runs, "epochOf" | "beginLine">;
  ledger: Pick<Ledger, "all" | "update">;
  reporter: Pick<ConsoleReporter, "lineBegun">;
  /** How many lines of each run this process has opened. */
  linesBegun: Map<RunName, number>;
  /** Lines that this process opens or has opened, by the id of the line: a capture does not wait for an answer that comes late. */
  openedLines: Map<string, Promise<number | null>>;
}

/**
 * Opens a line as the next epoch. Returns null when another writer continued the run meanwhile: another node took it over, or a person chose
 * its start. The line then belongs to the epoch before it. @throws Fault EPOCH_OVER, those of the hub, NO_SPACE, WRITE_FAILED
 */
export function openLine(parts: LineParts, run: RunName, line: UnopenedLine): Promise<number | null> {
  const { openedLines } = parts;
  const known = openedLines.get(line.id);
  if (known !== undefined) return known;
  const opening = askForLine(parts, run, line).catch((error: unknown) => {
    openedLines.delete(line.id);
    throw error;
  });
  openedLines.set(line.id, opening);
  return opening;
}

async function askForLine(
  { runs, ledger, reporter, linesBegun }: LineParts,
  run: RunName,
  { from, after, step }: UnopenedLine,
): Promise<number | null> {
  const present = await runs.epochOf(run);
  const { epoch } = present;
  const branch: LineBranch = { from, after: { ...after, epoch: after.epoch || epoch }, step };
  if (isSameBranch(branch, present.branch)) return epoch;
  // An earlier process asked for it and got no answer. The line did not know then which epoch it follows.
  const { branch: last } = present;
  if (after.epoch === 0 && last != null && !linesBegun.has(run)) {
    if (isSameBranch({ ...branch, after: { ...branch.after, epoch: last.after.epoch } }, last)) return epoch;
  }
  if (branch.after.epoch !== epoch) return null;
  // Captures from before the hub could be asked belong to the line that ends.
  for (const item of ledger.all())
    if (item.run === run && item.epoch === null && item.newLine == null) await ledger.update(item.id, { epoch });
  const claim = await runs.beginLine(run, branch);
  linesBegun.set(run, (linesBegun.get(run) ?? 0) + 1);
  reporter.lineBegun({ run, epoch: claim.epoch, branch });
  return claim.epoch;
}

/**
 * Creates the function that opens the lines of a run which the hub could not be asked to open when they began, the oldest first. Their
 * captures get the epochs of their lines. @throws Fault EPOCH_OVER, those of the hub, NO_SPACE, WRITE_FAILED
 */
export function createLineOpener(parts: LineParts): (run: RunName) => Promise<void> {
  const { ledger } = parts;
  const opening = new Map<RunName, Promise<void>>();
  const openAll = async (run: RunName): Promise<void> => {
    for (;;) {
      const waiting = ledger.all().filter((item) => item.run === run && item.newLine != null);
      const line = waiting.toSorted((a, b) => a.capturedAt - b.capturedAt)[0]?.newLine;
      if (line == null) return;
      // As captures of the epoch before the line, the hub refuses them like any other of an epoch that is over.
      const epoch = (await openLine(parts, run, line)) ?? line.after.epoch;
      for (const item of waiting) {
        const own = item.newLine;
        if (own == null) continue;
        if (isOfOneUnopened(own, line)) await ledger.update(item.id, { epoch, newLine: null });
        // The next line follows this one.
        else if (own.after.epoch === 0)
          await ledger.update(item.id, { newLine: { ...own, after: { ...own.after, epoch } } });
      }
    }
  };
  return (run) => {
    const mine = (opening.get(run) ?? openAll(run)).finally(() => opening.delete(run));
    opening.set(run, mine);
    return mine;
  };
}
