import { shuffle } from "#protocol/benchmarks/plan-cases.ts";
import { randomFrom } from "#protocol/base/random-from.ts";
import type { StartBench } from "#protocol/benchmarks/plan-input.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { chooseTargets, requireEngines } from "./plan.ts";
import { writeDown } from "./write-down.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Stores a benchmark with one turn for each link, in an order that the seed decides; the hub's tick starts the turns. A
 * repeated request returns the same benchmark.
 * @throws Fault NOT_FOUND, TOO_LARGE, BAD_INPUT
 */
export async function startBenchmark(
  context: Context & { caller: PersonCaller },
  input: StartBench,
): Promise<{ id: string }> {
  const { hub, caller } = context;
  const { id, name, targets, settings, seed } = input;
  if ((await hub.db.benchmark.count({ where: { id } })) > 0) return { id };
  const { nodes, profiles } = await chooseTargets(hub, targets, seed);
  requireEngines(settings, profiles);
  const links = shuffle(
    nodes.flatMap((node) => profiles.map((profile) => ({ node, profile }))),
    randomFrom(seed),
  );
  const actor = caller.person.email;
  await writeDown(hub, { request: input, actor, links, begins: "in turn" });
  const subject = `${name}: ${nodes.length} nodes, ${profiles.length} buckets`;
  await audit(hub, caller, { action: "start benchmark", subject, subjectId: id });
  hub.live.markStale(["benchmarks"]);
  return { id };
}
