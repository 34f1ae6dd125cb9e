import type * as z from "zod";
import {
  HUB_FEATURES,
  type HelloAnswer,
  type helloInput,
  type NodeFacts,
  type NodeStore,
} from "#protocol/wire/hello.ts";
import { tuned } from "#protocol/wire/tuning.ts";
import { OLDEST_ACCEPTED_PROTOCOL, PROTOCOL_VERSION } from "#protocol/base/version.ts";
import type { Hub } from "../api/hub.ts";
import type { LiveNode } from "../live/live-node.ts";
import { foundOf } from "../profiles/found-of.ts";
import { draftOf, trustOf } from "../profiles/open-store.ts";
import { nodeSealingInRun, nodeSealingOf } from "../profiles/seal-keys.ts";
import { packingOf, tuningOf } from "../profiles/profile-view.ts";
import { traitsFound } from "#storage/providers/providers.ts";
import type { Context } from "../api/trpc.ts";
import { hearCaller } from "./hear-caller.ts";
import type { NodeCaller } from "../api/caller.ts";

/** Returns the store as its nodes need to know it. With `run`, encryption follows all homes of that run. */
export async function nodeStoreOf(hub: Hub, profileId: string, run?: string): Promise<NodeStore | null> {
  const row = await hub.db.profile.findUnique({ where: { id: profileId } });
  if (row === null) return null;
  const draft = draftOf(row);
  const { name, bucket, prefix, endpoint, workerEndpoint, provider } = draft;
  return {
    profileId,
    profileName: name,
    bucket,
    endpoint: workerEndpoint ?? endpoint,
    prefix,
    traits: tuned(traitsFound(provider, foundOf(row)), tuningOf(row)),
    ...trustOf(draft),
    packing: packingOf(row),
    sealing: await (run === undefined ? nodeSealingOf(hub, row) : nodeSealingInRun(hub, { run, profileId })),
  };
}

/**
 * Stores a machine's facts only if they changed: after an outage of the hub, a whole fleet reconnects with facts that it
 * already has. @returns the highest number of its events that the hub holds
 */
async function keepFacts(hub: Hub, node: LiveNode, facts: NodeFacts): Promise<number> {
  const where = { id: node.id };
  const said = JSON.stringify(facts);
  if (said === JSON.stringify(node.facts)) {
    return (await hub.db.node.findUniqueOrThrow({ where, select: { acceptedSeq: true } })).acceptedSeq;
  }
  const { acceptedSeq } = await hub.db.node.update({ where, data: { facts: said }, select: { acceptedSeq: true } });
  node.facts = facts;
  hub.live.touchNode(node);
  return acceptedSeq;
}

/** Answers a worker that started or reconnected with its store, its settings, and how many of its events the hub holds. */
export async function hello(
  { hub, caller }: Context & { caller: NodeCaller },
  input: z.infer<typeof helloInput>,
): Promise<HelloAnswer> {
  if (input.protocol < OLDEST_ACCEPTED_PROTOCOL) {
    return { accepted: false, reason: "worker-too-old", hubProtocol: PROTOCOL_VERSION };
  }
  if (input.protocol > PROTOCOL_VERSION) {
    return { accepted: false, reason: "worker-too-new", hubProtocol: PROTOCOL_VERSION };
  }
  const node = await hearCaller({ hub, caller });
  const acceptedThrough = await keepFacts(hub, node, input.facts);
  return {
    accepted: true,
    nodeId: node.id,
    name: node.name,
    store: await nodeStoreOf(hub, node.profileId),
    settings: hub.live.settings,
    hubTimeMs: hub.now(),
    features: HUB_FEATURES,
    acceptedThrough,
  };
}
