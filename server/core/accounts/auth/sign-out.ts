import type { Context } from "#server/core/api/trpc.ts";
import { audit } from "#server/core/api/audit.ts";
import { clearedCookie, endSession } from "./session.ts";
import type { SessionCaller } from "../../api/caller.ts";

/** Ends the session of the caller; its open streams end within a second. */
export async function signOut(context: Context & { caller: SessionCaller }): Promise<{ ok: true }> {
  const { id, email } = context.caller.person;
  await audit(context.hub, context.caller, { action: "sign out", subject: email, subjectId: id });
  await endSession(context.hub, context.caller.sessionHash);
  context.setCookie(clearedCookie(context.origin));
  return { ok: true };
}
