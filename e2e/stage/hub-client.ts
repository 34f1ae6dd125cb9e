import { createTRPCClient, httpLink } from "@trpc/client";
import { faultData } from "#protocol/faults/fault-data.ts";
import type { FaultData } from "#protocol/faults/fault.ts";
import type { HubRouter } from "#server/router.ts";

export type HubClient = ReturnType<typeof createHubClient>;

/** Returns a client of the hub's procedures for a person. `cookie` comes from `signIn`. */
export function createHubClient(url: string, cookie?: string) {
  return createTRPCClient<HubRouter>({
    links: [
      httpLink({
        url: `${url}/api/trpc`,
        headers: { origin: url, ...(cookie === undefined ? {} : { cookie }) },
      }),
    ],
  });
}

/** Signs in and returns the session cookie. @throws Error with the hub's answer */
export async function signIn(url: string, person: { email: string; password: string }): Promise<string> {
  const response = await fetch(`${url}/api/trpc/auth.signIn`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: url },
    body: JSON.stringify(person),
  });
  const cookie = response.headers.getSetCookie()[0]?.split(";")[0];
  if (!response.ok || cookie === undefined) throw new Error(`sign-in failed: ${await response.text()}`);
  return cookie;
}

/** Returns the fault of a refused call; null for any other error. */
export function faultOf(error: unknown): FaultData | null {
  if (typeof error !== "object" || error === null || !("data" in error)) return null;
  const { data } = error;
  if (typeof data !== "object" || data === null || !("fault" in data)) return null;
  return faultData.safeParse(data.fault).data ?? null;
}
