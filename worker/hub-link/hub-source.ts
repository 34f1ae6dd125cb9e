import type { RequestSource } from "#storage/signing/signing.ts";
import type { Hub } from "./hub.ts";

/**
 * Creates a request source whose requests the hub signs, so that this node needs no key of a store. `profileId` names the
 * bucket profile of a replica, when it is not the node's own. @throws Faults of `node.sign`, HUB_UNREACHABLE
 */
export const createHubSource = (hub: Hub, profileId?: string): RequestSource => ({
  sign: async (operations) => {
    const wanted = { operations: [...operations], ...(profileId === undefined ? {} : { profileId }) };
    const { requests } = await hub.ask("sign", (client, signal) => client.node.sign.mutate(wanted, { signal }));
    return requests;
  },
});

/**
 * Creates a request source for this node's turn in a benchmark, at the bucket of that turn. @throws Faults of
 * `node.benchSign`, HUB_UNREACHABLE
 */
export const createTurnSource = (hub: Hub, turnId: string): RequestSource => ({
  sign: async (operations) => {
    const { requests } = await hub.ask("benchSign", (client, signal) =>
      client.node.benchSign.mutate({ turnId, operations: [...operations] }, { signal }),
    );
    return requests;
  },
});
