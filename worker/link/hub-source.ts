import type { RequestSource } from "#storage/signing.ts";
import type { Hub } from "./hub.ts";

/** Signatures from the hub: this node holds no key of the store. Faults: those of `node.sign`, HUB_UNREACHABLE. */
export const createHubSource = (hub: Hub): RequestSource => ({
  sign: async (operations) => {
    const { requests } = await hub.ask("sign", (client, signal) =>
      client.node.sign.mutate({ operations: [...operations] }, { signal }),
    );
    return requests;
  },
});
