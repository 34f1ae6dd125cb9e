import type {
  Grouping,
  HistorySeriesView,
  Percentiles,
  PercentilesInput,
  SeriesInput,
  Source,
} from "#protocol/history/history.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { PRESETS } from "#storage/providers/providers.ts";
import { provider } from "#protocol/base/provider.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { GroupRow, Scope } from "../../api/ports/history-questions.ts";
import { kindOf } from "#protocol/history/roll-bytes.ts";
import { markOf } from "../roll-up.ts";
import { STRETCH_MS } from "../stretch.ts";

/** Answers which rates and RTTs links had over any range, by group. The thread of history does the reading and counting. */

/** Live values count for RTT only: a momentary rate says less than the rate of a transfer. */
const SOURCES_OF_RATES: readonly Source[] = ["probe", "transfer"];
const SOURCES_OF_RTT: readonly Source[] = ["live", "probe", "transfer"];
const MOST_POINTS = 1_500;

async function scopeOf(hub: Hub, input: Omit<PercentilesInput, "by" | "limit">, live: "no" | "only"): Promise<Scope> {
  const { from, to, profileId, provider, region, engine } = input;
  const { places } = hub.history;
  await places.refresh();
  const nodes = input.nodeIds?.flatMap((id) => places.numberOf(id) ?? []) ?? null;
  const sourcesFor = (measure: string): readonly Source[] =>
    live === "only" ? ["live"] : (input.sources ?? (measure === "rtt" ? SOURCES_OF_RTT : SOURCES_OF_RATES));
  const kinds = input.measures.flatMap((measure) => sourcesFor(measure).map((source) => kindOf(measure, source)));
  const kept = {
    hourThrough: (await markOf(hub, "hour")) ?? 0,
    dayThrough: (await markOf(hub, "day")) ?? 0,
    oldestHour: Math.ceil((hub.now() - hub.settings.history.hourMs) / STRETCH_MS.hour),
  };
  return {
    from,
    to: Math.min(to, hub.now() + STRETCH_MS.hour),
    profileId,
    provider,
    region,
    engine,
    nodes,
    kinds,
    kept,
  };
}

/** Returns a group's key outside of the thread, and its label on the screen. */
function namesOf(hub: Hub, by: Grouping, key: string): { key: string; label: string } {
  switch (by) {
    case "node": {
      const id = hub.history.places.nodeIdOf(Number(key)) ?? "";
      return { key: id, label: hub.live.nodes.get(id)?.name ?? "a forgotten node" };
    }
    case "profile": {
      for (const node of hub.live.nodes.values()) if (node.profileId === key) return { key, label: node.profileName };
      return { key, label: key };
    }
    case "provider": {
      const known = provider.safeParse(key);
      return { key, label: known.success ? PRESETS[known.data].label : key };
    }
    case "region":
      return { key, label: key === "" ? "unknown" : key };
    case "engine":
    case "direction":
      return { key, label: key };
    case "all":
      return { key, label: "all nodes" };
  }
}

const shareOf = ({ failures, count }: GroupRow): number => (failures === 0 ? 0 : failures / (failures + count));
const MEASURE_ORDER = { up: 0, down: 1, rtt: 2 } as const;

/** Returns groups by label, up before down before RTT. @throws Fault INTERNAL when history could not be read */
export async function readPercentilesOf(hub: Hub, input: PercentilesInput): Promise<Percentiles> {
  const scope = await scopeOf(hub, input, "no");
  if (scope.nodes?.length === 0) return { rows: [], more: false, from: input.from, to: input.to };
  const answer = await hub.history.reader.ask({ op: "percentiles", scope, by: input.by });
  const rows = answer.rows
    .map((row) => ({ ...row, ...namesOf(hub, input.by, row.key), failureShare: shareOf(row) }))
    .toSorted(
      (a, b) =>
        (a.label < b.label ? -1 : Number(a.label > b.label)) ||
        (a.key < b.key ? -1 : Number(a.key > b.key)) ||
        MEASURE_ORDER[a.measure] - MEASURE_ORDER[b.measure],
    );
  return { rows: rows.slice(0, input.limit), more: rows.length > input.limit, from: answer.from, to: answer.to };
}

/**
 * Returns one series of points per group and measure. @throws Fault BAD_INPUT for too many points or for minutes of single
 * nodes, INTERNAL when history could not be read
 */
export async function readSeriesOf(hub: Hub, input: SeriesInput): Promise<HistorySeriesView[]> {
  const { from, to, step, by } = input;
  if ((to - from) / STRETCH_MS[step] > MOST_POINTS) {
    const detail = `a chart has at most ${MOST_POINTS} points: ask for a shorter range, or a longer step`;
    throw new Fault("BAD_INPUT", { subject: "step", detail });
  }
  if (step === "minute" && input.nodeIds !== null) {
    const detail = "minutes of single nodes are asked for with nodes.samples";
    throw new Fault("BAD_INPUT", { subject: "nodeIds", detail });
  }
  const scope = await scopeOf(hub, input, step === "minute" ? "only" : "no");
  if (scope.nodes?.length === 0) return [];
  const rows = await hub.history.reader.ask({ op: "series", scope, by, step });
  const series = Map.groupBy(rows, ({ key, measure }) => `${measure} ${key}`);
  return [...series.values()].flatMap((points) => {
    const [first] = points;
    if (first === undefined) return [];
    const { measure } = first;
    return [{ ...namesOf(hub, by, first.key), measure, points: points.map(pointOf) }];
  });
}

const pointOf = ({ at, count, mean, p10, p50, p90, failures }: GroupRow & { at: number }) => ({
  at,
  count,
  mean,
  p10,
  p50,
  p90,
  failures,
});
