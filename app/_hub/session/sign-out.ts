import type { QueryClient } from "@tanstack/react-query";
import { hub } from "../queries/client.ts";
import { liveStore } from "../live/live-store.ts";

/** Ends the session and forgets what this page knew. Whoever calls it leads to the door. */
export async function signOut(client: QueryClient): Promise<void> {
  await hub.auth.signOut.mutate();
  liveStore.clear();
  client.clear();
}
