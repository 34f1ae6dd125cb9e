import type { RequestSource } from "#storage/signing/signing.ts";
import type { Hub } from "./hub.ts";

/**
 * Signatures from the hub: this node holds no key of a store. `profileId`: of another home than the node's own profile.
 * Faults: those of `node.sign`, HUB_UNREACHABLE.
 */
export const createHubSource = (hub: Hub, profileId?: string): RequestSource => ({
  sign: async (operations) => {
    const wanted = { operations: [...operations], ...(profileId === undefined ? {} : { profileId }) };
    const { requests } = await hub.ask("sign", (client, signal) => client.node.sign.mutate(wanted, { signal }));
    return requests;
  },
});

/** Signatures for this node's turn in a benchmark, at the bucket of that turn. Faults: those of `node.benchSign`, HUB_UNREACHABLE. */
export const createTurnSource = (hub: Hub, turnId: string): RequestSource => ({
  sign: async (operations) => {
    const { requests } = await hub.ask("benchSign", (client, signal) =>
      client.node.benchSign.mutate({ turnId, operations: [...operations] }, { signal }),
    );
    return requests;
  },
});
