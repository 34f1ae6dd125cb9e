import { ENGINES, type EngineName } from "#protocol/benchmarks/engines.ts";
import type { EngineNeeds } from "#protocol/benchmarks/views.ts";
import { formatCount } from "#protocol/base/units.ts";

/** Returns the engines to preselect: those that can run. Before the hub has answered, only the worker's own is known to run. */
export const runnable = (engines: readonly EngineNeeds[] | undefined): EngineName[] =>
  engines?.filter(({ canRun }) => canRun).map(({ engine }) => engine) ?? ["tidemark"];

/** Returns why an engine cannot run; null when it can. */
export function needWords({ engine, canRun, needs, missingOn, unknownOn }: EngineNeeds): string | null {
  if (canRun) return null;
  const { program } = ENGINES[engine];
  const nodes = missingOn + unknownOn;
  const lacks = [
    ...(needs === "key" ? ["a benchmark key"] : needs === "grant" ? ["a benchmark key with an access grant"] : []),
    ...(program === null || nodes === 0 ? [] : [`${program} on a node`]),
  ].join(" and ");
  if (program === null || missingOn === 0) return `needs ${lacks}`;
  return `needs ${lacks}; ${formatCount(missingOn)} of ${formatCount(nodes)} said it is not there`;
}
