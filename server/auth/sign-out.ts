import type { Context, SessionCaller } from "../trpc.ts";
import { clearedCookie, endSession } from "./session.ts";

/** Ends the session of the caller; its open streams end within a second. */
export async function signOut(context: Context & { caller: SessionCaller }): Promise<{ ok: true }> {
  await endSession(context.hub, context.caller.sessionHash);
  context.setCookie(clearedCookie(context.hub.settings));
  return { ok: true };
}
