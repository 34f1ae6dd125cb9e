import { isSameBranch, type LineBranch, type UnopenedLine } from "#protocol/checkpoint/line-branch.ts";
import type { RunName } from "#protocol/base/names.ts";
import { isOfOneUnopened, type Ledger } from "../capture/ledger.ts";
import type { Runs } from "../capture/runs.ts";
import type { ConsoleReporter } from "./console-reporter.ts";

/** Opens new lines of training as epochs, also those that began while the hub was away. */
interface LineParts {
  runs: Pick<Runs, "epochOf" | "beginLine">;
  ledger: Pick<Ledger, "all" | "update">;
  reporter: Pick<ConsoleReporter, "lineBegun">;
}

/** Opens a line as the next epoch. @throws Fault EPOCH_OVER, those of the hub, NO_SPACE, WRITE_FAILED */
export async function openLine(
  { runs, ledger, reporter }: LineParts,
  run: RunName,
  line: UnopenedLine,
): Promise<number> {
  const present = await runs.epochOf(run);
  // An answer to an earlier question came late.
  if (isOpened(line, present.branch)) return present.epoch;
  const { epoch } = present;
  // Captures from before the hub could be asked belong to the line that ends.
  for (const item of ledger.all())
    if (item.run === run && item.epoch === null && item.newLine == null) await ledger.update(item.id, { epoch });
  const branch: LineBranch = { ...line, after: { ...line.after, epoch: line.after.epoch || epoch } };
  const claim = await runs.beginLine(run, branch);
  reporter.lineBegun({ run, epoch: claim.epoch, branch });
  return claim.epoch;
}

/** Returns whether the branch of an epoch is that of the line. */
const isOpened = (line: UnopenedLine, branch: LineBranch | undefined): boolean =>
  branch !== undefined &&
  isSameBranch(branch, { ...line, after: { ...line.after, epoch: line.after.epoch || branch.after.epoch } });

/**
 * Creates the function that opens the lines of a run which the hub could not be asked to open when they began, the oldest first. Their
 * captures get the epochs of their lines. @throws Fault EPOCH_OVER, those of the hub, NO_SPACE, WRITE_FAILED
 */
export function createLineOpener(parts: LineParts): (run: RunName) => Promise<void> {
  const opening = new Map<RunName, Promise<void>>();
  const openAll = async (run: RunName): Promise<void> => {
    for (;;) {
      const waiting = parts.ledger.all().filter((item) => item.run === run && item.newLine != null);
      const line = waiting.toSorted((a, b) => a.capturedAt - b.capturedAt)[0]?.newLine;
      if (line == null) return;
      const epoch = await openLine(parts, run, line);
      for (const item of waiting)
        if (isOfOneUnopened(item.newLine, line)) await parts.ledger.update(item.id, { epoch, newLine: null });
    }
  };
  return (run) => {
    const mine = (opening.get(run) ?? openAll(run)).finally(() => opening.delete(run));
    opening.set(run, mine);
    return mine;
  };
}
