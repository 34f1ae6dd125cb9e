import { createTRPCClient, httpBatchLink, httpSubscriptionLink, splitLink } from "@trpc/client";
import type { HubRouter } from "#server/router.ts";

const URL = "/api/trpc";

/** Client of the hub's procedures. Calls go to the page's own origin; cookies carry the session. */
export const hub = createTRPCClient<HubRouter>({
  links: [
    splitLink({
      condition: (operation) => operation.type === "subscription",
      true: httpSubscriptionLink({ url: URL }),
      false: httpBatchLink({ url: URL, maxItems: 20 }),
    }),
  ],
});
