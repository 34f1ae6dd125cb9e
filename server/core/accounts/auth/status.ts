import type { HubStatus } from "#protocol/wire/views.ts";
import { PRODUCT_VERSION } from "#protocol/base/version.ts";
import type { Context } from "#server/core/api/trpc.ts";

/** Returns the calling person, and whether this hub still waits for its first account. */
export async function status({ hub, caller }: Context): Promise<HubStatus> {
  const publicOrigin = hub.settings.publicUrl?.origin ?? null;
  if (caller.kind === "person" || caller.kind === "token")
    return { needsSetup: false, person: caller.person, version: PRODUCT_VERSION, publicOrigin };
  const needsSetup = (await hub.db.user.count()) === 0;
  if (needsSetup) hub.setupCode.offer();
  return { needsSetup, person: null, version: PRODUCT_VERSION, publicOrigin };
}
