import type { HubStatus, Person } from "#protocol/wire/views.ts";
import { PRODUCT_VERSION } from "#protocol/base/version.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { endSession, openSession } from "./session.ts";

/** Signs this caller in as `person`, always with a new session; a session that the browser still had ends. */
export async function welcome(context: Context, person: Person): Promise<HubStatus> {
  const { hub, caller } = context;
  if (caller.kind === "person") await endSession(hub, caller.sessionHash);
  const publicOrigin = hub.settings.publicUrl?.origin ?? null;
  context.setCookie(await openSession(hub, person.id, context));
  return { needsSetup: false, person, version: PRODUCT_VERSION, publicOrigin };
}
