import type { StartBench } from "#protocol/benchmarks/plan-input.ts";
import type { Profile } from "#prisma/client/client.ts";
import { regionOf } from "#server/core/history/region-of.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { LiveNode } from "#server/core/live/live-node.ts";
import { newId } from "#server/platform/random-id.ts";

/**
 * Stores a benchmark with one turn for each link, in their order. With `in turn` the hub's tick starts the turns, with `now`
 * all of them are running at once.
 */
export async function writeDown(
  hub: Hub,
  about: {
    request: StartBench;
    actor: string;
    links: readonly { node: LiveNode; profile: Profile }[];
    begins: "in turn" | "now";
  },
): Promise<void> {
  const { request, actor, links, begins } = about;
  const { id, name, targets, settings, perBucket, seed } = request;
  const { rules } = hub.history;
  const startedAt = new Date(hub.now());
  const common = { settings: JSON.stringify(settings), targets: JSON.stringify(targets) };
  const state = begins === "now" ? { state: "running", startedAt, heardAt: startedAt } : { state: "waiting" };
  await hub.db.$transaction(
    async (tx) => {
      await tx.benchmark.create({
        data: { id, name, state: "running", ...common, perBucket, seed: BigInt(seed), actor, startedAt },
      });
      await tx.benchTurn.createMany({
        data: links.map(({ node, profile }, position) => ({
          id: newId(),
          benchmarkId: id,
          position,
          nodeId: node.id,
          nodeName: node.name,
          nodeRegion: regionOf(rules, node),
          profileId: profile.id,
          profileName: profile.name,
          storeRegion: profile.region,
          prefix: profile.prefix,
          ...state,
        })),
      });
    },
    { timeout: 60_000 },
  );
}
