import { Fault } from "#protocol/faults/fault.ts";
import type { SessionView } from "#protocol/fleet/people.ts";
import { audit } from "#server/core/api/audit.ts";
import { router, viewerHere, type Context } from "#server/core/api/trpc.ts";
import { byId } from "#protocol/wire/requests.ts";
import { ofUserInput } from "#protocol/fleet/people.ts";
import { listSessions } from "./session.ts";
import type { SessionCaller } from "../../api/caller.ts";

type Asked = Context & { caller: SessionCaller };

/** Allows access to one's own sessions, and an admin access to all. @throws Fault ROLE_REQUIRED */
function allowFor({ caller }: Asked, userId: string): void {
  if (userId === caller.person.id || caller.person.role === "admin") return;
  throw new Fault("ROLE_REQUIRED", { detail: "the sessions of others need the role admin" });
}

async function list(context: Asked, input: { userId: string | null }): Promise<SessionView[]> {
  const { hub, caller } = context;
  const userId = input.userId ?? caller.person.id;
  allowFor(context, userId);
  return listSessions(hub, userId, caller.sessionHash);
}

/** Ends a session; one that does not exist counts as ended. Its open streams end within a second. @throws Fault ROLE_REQUIRED */
async function end(context: Asked, input: { id: string }): Promise<{ ok: true }> {
  const { hub } = context;
  const row = await hub.db.session.findUnique({ where: { id: input.id }, include: { user: true } });
  if (row === null) return { ok: true };
  allowFor(context, row.userId);
  await hub.db.$transaction(async (tx) => {
    await tx.session.deleteMany({ where: { id: row.id } });
    await audit({ db: tx, now: hub.now }, context.caller, {
      action: "end session",
      subject: row.user.email,
      subjectId: row.userId,
    });
  });
  hub.live.endSession();
  return { ok: true };
}

/** Ends all sessions of an account but the one that asks. @throws Fault ROLE_REQUIRED, NOT_FOUND */
async function endOthers(context: Asked, input: { userId: string | null }): Promise<{ ended: number }> {
  const { hub, caller } = context;
  const userId = input.userId ?? caller.person.id;
  allowFor(context, userId);
  const user = await hub.db.user.findUnique({ where: { id: userId } });
  if (user === null) throw new Fault("NOT_FOUND", { subject: "this account" });
  const ended = await hub.db.$transaction(async (tx) => {
    const { count } = await tx.session.deleteMany({ where: { userId, hash: { not: caller.sessionHash } } });
    await audit({ db: tx, now: hub.now }, context.caller, {
      action: "end sessions",
      subject: user.email,
      subjectId: userId,
    });
    return count;
  });
  hub.live.endSession();
  return { ended };
}

export const sessionsRouter = router({
  list: viewerHere.input(ofUserInput).query(({ ctx, input }) => list(ctx, input)),
  end: viewerHere.input(byId).mutation(({ ctx, input }) => end(ctx, input)),
  endOthers: viewerHere.input(ofUserInput).mutation(({ ctx, input }) => endOthers(ctx, input)),
});
