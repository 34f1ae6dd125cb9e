import { continueWords } from "#protocol/checkpoint/continue-words.ts";
import type { NodeRow } from "#protocol/wire/views.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { plural } from "./risk-words.ts";

const MOST_RUNS = 3;

/** From where the runs go on that a node wrote, when it is away. */
export function continueAdvice({ name, runs }: Pick<NodeRow, "name" | "runs">): string {
  const written = runs.filter(({ isWriter }) => isWriter);
  const more = written.length - MOST_RUNS;
  return visibleText(
    [
      ...written.slice(0, MOST_RUNS).map((run) => continueWords({ ...run, unsafe: run.risk }, name)),
      ...(more > 0 ? [`And ${plural(more, "more run", "more runs")}.`] : []),
    ].join(" "),
  );
}
