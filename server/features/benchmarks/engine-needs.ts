import { ENGINE_NAMES, engineSpec, type EngineName } from "#protocol/benchmarks/engines.ts";
import type { EngineNeeds } from "#protocol/benchmarks/views.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { enginesOfTurn } from "./read.ts";

/** How many recent benchmarks are searched for what nodes reported about their engines. */
const BACK = 10;

/** Returns, by node, whether it has each engine, by its last report. */
async function lastSaid(hub: Hub, nodeIds: ReadonlySet<string>): Promise<Map<string, Map<EngineName, boolean>>> {
  const newest = await hub.db.benchmark.findMany({
    select: { id: true },
    orderBy: [{ startedAt: "desc" }, { id: "desc" }],
    take: BACK,
  });
  const turns = await hub.db.benchTurn.findMany({
    where: { benchmarkId: { in: newest.map(({ id }) => id) }, engines: { not: "[]" } },
    select: { nodeId: true, engines: true, startedAt: true },
    orderBy: { startedAt: "asc" },
  });
  const said = new Map<string, Map<EngineName, boolean>>();
  for (const turn of turns) {
    if (!nodeIds.has(turn.nodeId)) continue;
    const known = said.get(turn.nodeId) ?? new Map<EngineName, boolean>();
    said.set(turn.nodeId, known);
    for (const { engine, missing } of enginesOfTurn(turn)) known.set(engine, missing === null);
  }
  return said;
}

interface Links {
  nodes: readonly { id: string }[];
  /** The benchmark key of each bucket; null where it has none. */
  keys: readonly ({ hasGrant: boolean } | null)[];
}

/** Returns for every engine whether it can run on one of the links, and what it needs. */
export async function engineNeeds(hub: Hub, { nodes, keys }: Links): Promise<EngineNeeds[]> {
  const said = await lastSaid(hub, new Set(nodes.map(({ id }) => id)));
  return ENGINE_NAMES.map((engine): EngineNeeds => {
    const { needsKeys, program } = engineSpec(engine);
    const answers = nodes.map(({ id }) => (program === null ? true : said.get(id)?.get(engine)));
    const lacksKey = needsKeys && !keys.some((key) => key !== null && (engine !== "uplink" || key.hasGrant));
    return {
      engine,
      canRun: !lacksKey && answers.includes(true),
      needs: !lacksKey ? null : engine === "uplink" ? "grant" : "key",
      missingOn: answers.filter((answer) => answer === false).length,
      unknownOn: answers.filter((answer) => answer === undefined).length,
    };
  });
}
