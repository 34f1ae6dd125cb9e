import type { QueryClient } from "@tanstack/react-query";
import { hub } from "../queries/client.ts";
import { liveStore } from "../live/live-store.ts";

/** Ends the session and clears the page's data. The caller navigates to the sign-in page. */
export async function signOut(client: QueryClient): Promise<void> {
  await hub.auth.signOut.mutate();
  liveStore.clear();
  client.clear();
}
