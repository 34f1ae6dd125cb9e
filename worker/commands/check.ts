import { isFault, toFault } from "#protocol/faults/fault.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { formatCount } from "#protocol/base/units.ts";
import { compareBytes, compareContent, type Verdict } from "../object-copy/listing/compare.ts";
import type { Failure } from "../object-copy/listing/entries.ts";
import type { Entry } from "../object-copy/listing/entry.ts";
import { sayFailures, tellLeftOut } from "../object-copy/follow.ts";
import { withSides } from "../object-copy/listing/open-sides.ts";
import { pairUp } from "../object-copy/listing/pair-up.ts";
import { EXIT, shownName, twoPlaces, usage, type CommandContext } from "../command-line/command-context.ts";

/** `=` same, `<` only in SRC, `>` only in DST, `*` differs, `?` same size, contents not compared. */
const SIGNS = { same: "=", onlySource: "<", onlyTarget: ">", differs: "*", unknown: "?" } as const;
type State = keyof typeof SIGNS;

/** Number of files compared at a time, because asking the store takes a round trip for each. */
const WIDTH = 16;

/**
 * Implements `tidemark check`: compares two folders and changes nothing. Prints a line for each file; ends with 6
 * unless all are equal. A file that cannot be compared counts as different: `--download` compares its bytes,
 * `--size-only` compares only sizes. Faults: those of `withSides`.
 */
export function check(context: CommandContext): Promise<number> {
  const ends = twoPlaces(context, "check");
  const { config, signal, terminal } = context;
  const [isDownload, isSizeOnly] = [config.isOn("download"), config.isOn("size-only")];
  if (isDownload && isSizeOnly) throw usage("--download", "it contradicts --size-only");
  return withSides(context, ends, async ({ from, to, storeSessions }) => {
    const counts: Record<State, number> = { same: 0, onlySource: 0, onlyTarget: 0, differs: 0, unknown: 0 };
    const failures: Failure[] = [...from.failures, ...to.failures];
    const tell = (state: State, { relative }: Entry) => {
      counts[state]++;
      const sign = SIGNS[state];
      terminal.result(`${sign} ${shownName(relative)}`, { type: "compared", sign, state, name: relative });
    };
    const paired = pairUp(from, to);
    await forEachOf(paired.both, WIDTH, async (pair) => {
      const judge = isDownload ? compareBytes : compareContent;
      try {
        const verdict: Verdict = isSizeOnly
          ? pair.from.sizeBytes === pair.to.sizeBytes
            ? "same"
            : "differs"
          : await judge({ ...pair, storeSessions, signal });
        tell(verdict, pair.from);
      } catch (error) {
        if (signal.aborted || (isFault(error) && error.retry !== "never")) throw error;
        failures.push({ name: pair.from.relative, fault: toFault(error) });
      }
    });
    for (const entry of paired.onlyFrom) tell("onlySource", entry);
    for (const entry of paired.onlyTo) tell("onlyTarget", entry);
    tellLeftOut(context, from.leftOut);
    tellLeftOut(context, to.leftOut);
    const failed = sayFailures(context, failures);
    const { same, onlySource, onlyTarget, differs, unknown } = counts;
    const all = onlySource + onlyTarget + differs + unknown === 0;
    const rest = [
      [differs, "differ"],
      [onlySource, "only in SRC"],
      [onlyTarget, "only in DST"],
      [unknown, "of the same size could not be compared (--download compares their bytes)"],
      [failures.length, "could not be read"],
    ] as const;
    const words = [
      `${formatCount(same)} same`,
      ...rest.flatMap(([count, say]) => (count === 0 ? [] : [`${formatCount(count)} ${say}`])),
    ];
    terminal.say(words.join(", "), { type: "done", ...counts, filesFailed: failures.length });
    return all ? failed : EXIT.differs;
  });
}
