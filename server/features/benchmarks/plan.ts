import { isExpected } from "#protocol/fleet/node-status.ts";
import type * as z from "zod";
import { engineSpec, type EngineName } from "#protocol/benchmarks/engines.ts";
import { planCases, shuffle } from "#protocol/benchmarks/plan-cases.ts";
import { randomFrom } from "#protocol/base/random-from.ts";
import {
  MOST_TURNS,
  type BenchSettings,
  type benchTargets,
  type planBenchInput,
} from "#protocol/benchmarks/plan-input.ts";
import type { BenchPreview } from "#protocol/benchmarks/views.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { fitsNode } from "#protocol/base/scope.ts";
import type { Profile, ProfileBenchKey } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { stateOf, type LiveNode } from "#server/core/live/live-node.ts";
import { engineNeeds } from "./engine-needs.ts";
import { estimateCost } from "#server/core/profiles/estimate-cost.ts";

/** Chooses the nodes and buckets of a benchmark, and computes what it would move and cost. */

type Targets = z.infer<typeof benchTargets>;
export type KeyedProfile = Profile & { benchKey: ProfileBenchKey | null };

export interface Chosen {
  nodes: LiveNode[];
  profiles: KeyedProfile[];
}

/**
 * Returns the online nodes that match, sorted by name or sampled with the seed, and the profiles.
 * @throws Fault NOT_FOUND, TOO_LARGE
 */
export async function chooseTargets(hub: Hub, targets: Targets, seed: number): Promise<Chosen> {
  const { scope, sample, profileIds } = targets;
  const fitting = [...hub.live.nodes.values()]
    .filter((node) => isExpected(stateOf(node)) && fitsNode(node, scope))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  if (fitting.length === 0)
    throw new Fault("NOT_FOUND", { subject: "a node", detail: "the filter fits none that is online" });
  const nodes = sample === null ? fitting : shuffle(fitting, randomFrom(seed)).slice(0, sample);
  const found = await hub.db.profile.findMany({ where: { id: { in: profileIds } }, include: { benchKey: true } });
  const profiles = profileIds.flatMap((id) => found.filter((profile) => profile.id === id));
  if (profiles.length < profileIds.length) throw new Fault("NOT_FOUND", { subject: "a bucket profile" });
  const turns = nodes.length * profiles.length;
  if (turns > MOST_TURNS) {
    const detail = `${nodes.length} nodes and ${profiles.length} buckets are ${turns} links; one benchmark has ${MOST_TURNS}`;
    throw new Fault("TOO_LARGE", { subject: "this benchmark", detail });
  }
  return { nodes, profiles };
}

/** Returns the engines that run at a bucket: those that need no key, and the others if a benchmark key was given. */
export function enginesFor(settings: BenchSettings, key: { hasGrant: boolean } | null): EngineName[] {
  return settings.engines.filter(
    (name) => !engineSpec(name).needsKeys || (key !== null && (name !== "uplink" || key.hasGrant)),
  );
}

/** Checks that an engine can run. @throws Fault BAD_INPUT when nothing could run */
export function requireEngines(settings: BenchSettings, profiles: readonly KeyedProfile[]): void {
  if (profiles.some(({ benchKey }) => enginesFor(settings, benchKey).length > 0)) return;
  const detail = "every engine needs a key, and none of these buckets has a benchmark key";
  throw new Fault("BAD_INPUT", { subject: "engines", detail });
}

/** Computes the size and cost of a benchmark without starting it. @throws Fault NOT_FOUND, TOO_LARGE */
export async function previewBenchmark(hub: Hub, input: z.infer<typeof planBenchInput>): Promise<BenchPreview> {
  const { targets, settings } = input;
  const { nodes, profiles } = await chooseTargets(hub, targets, 0);
  const { directions, rounds, sizeBytes, partBytes } = settings;
  const requests = Math.ceil(sizeBytes / partBytes);
  const buckets = profiles.map((profile) => {
    const engines = enginesFor(settings, profile.benchKey);
    const cases = planCases({ engines, directions, rounds, seed: 0 });
    const count = (way: string) => nodes.length * cases.filter(({ direction }) => direction === way).length;
    const [ups, downs] = [count("up"), count("down")];
    // Each node first uploads the file that its downloads fetch.
    const puts = downs > 0 ? nodes.length : 0;
    return {
      view: {
        profileId: profile.id,
        name: profile.name,
        region: profile.region,
        withoutKey: settings.engines.filter((name) => !engines.includes(name)),
        cost: estimateCost(profile, { bytes: downs * sizeBytes, reads: downs * requests }),
      },
      cases: ups + downs,
      upBytes: (ups + puts) * sizeBytes,
      downBytes: downs * sizeBytes,
    };
  });
  const sum = (read: (bucket: (typeof buckets)[number]) => number) => buckets.reduce((all, one) => all + read(one), 0);
  return {
    engines: await engineNeeds(hub, { nodes, keys: profiles.map(({ benchKey }) => benchKey) }),
    nodes: nodes.map(({ id, name }) => ({ id, name })),
    turns: nodes.length * profiles.length,
    cases: sum(({ cases }) => cases),
    upBytes: sum(({ upBytes }) => upBytes),
    downBytes: sum(({ downBytes }) => downBytes),
    buckets: buckets.map(({ view }) => view),
  };
}
