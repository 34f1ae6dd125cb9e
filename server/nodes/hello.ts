import type * as z from "zod";
import type { HelloAnswer, helloInput, NodeStore } from "#protocol/hello.ts";
import { OLDEST_ACCEPTED_PROTOCOL, PROTOCOL_VERSION } from "#protocol/version.ts";
import type { Hub } from "../hub.ts";
import { foundOf } from "../profiles/found-of.ts";
import { draftOf } from "../profiles/open-store.ts";
import { traitsFound } from "#storage/providers.ts";
import type { Context, NodeCaller } from "../trpc.ts";
import { hearFrom } from "./hear-from.ts";
import { liveNodeOf } from "./live-node-of.ts";

/** Where the bytes of a profile go, as its nodes are told. */
export async function nodeStoreOf(hub: Hub, profileId: string): Promise<NodeStore | null> {
  const row = await hub.db.profile.findUnique({ where: { id: profileId } });
  if (row === null) return null;
  const { name, bucket, prefix, endpoint, workerEndpoint, provider } = draftOf(row);
  return {
    profileId,
    profileName: name,
    bucket,
    endpoint: workerEndpoint ?? endpoint,
    prefix,
    traits: traitsFound(provider, foundOf(row)),
  };
}

/** A worker started, or its connection came back: where its bytes go, and what the hub holds of it. */
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
  const node = liveNodeOf(hub, caller.nodeId);
  await hearFrom(hub, node);
  const row = await hub.db.node.update({
    where: { id: node.id },
    data: { facts: JSON.stringify(input.facts), lastSeenAt: new Date(hub.now()) },
  });
  node.facts = input.facts;
  hub.live.touchNode(node);
  return {
    accepted: true,
    nodeId: node.id,
    name: node.name,
    store: await nodeStoreOf(hub, node.profileId),
    settings: hub.live.settings,
    hubTimeMs: hub.now(),
    acceptedThrough: row.acceptedSeq,
  };
}
