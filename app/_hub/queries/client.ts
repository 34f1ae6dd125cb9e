import { createTRPCClient, httpBatchLink, httpSubscriptionLink, splitLink } from "@trpc/client";
import type { HubRouter } from "#server/router.ts";

const URL = "/api/trpc";

/** The hub's procedures. Cookies carry the session; every call goes to the page's own origin. */
export const hub = createTRPCClient<HubRouter>({
  links: [
    splitLink({
      condition: (operation) => operation.type === "subscription",
      true: httpSubscriptionLink({ url: URL }),
      false: httpBatchLink({ url: URL, maxItems: 20 }),
    }),
  ],
});
