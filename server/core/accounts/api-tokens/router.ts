import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { createApiTokenInput, type ApiTokenView } from "#protocol/fleet/people.ts";
import { byId, hasRole, role } from "#protocol/wire/requests.ts";
import type { ApiToken, User } from "#prisma/client/client.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit } from "#server/core/events/record-event.ts";
import { hashOf, newId, newSecret } from "#server/platform/random-id.ts";
import { router, viewer, viewerHere, type Context } from "#server/core/api/trpc.ts";
import type { PersonCaller, SessionCaller } from "../../api/caller.ts";

/**
 * API tokens: people create them for their programs. A token is shown once and stored as a hash. Tokens cannot create tokens.
 */

const HINT_LENGTH = 10;
const MOST_PER_ACCOUNT = 100;

const viewOf = (row: ApiToken & { user: Pick<User, "email"> }): ApiTokenView => ({
  id: row.id,
  name: row.name,
  role: role.parse(row.role),
  userId: row.userId,
  email: row.user.email,
  hint: row.hint,
  createdAt: row.createdAt.getTime(),
  expiresAt: row.expiresAt.getTime(),
  lastUsedAt: row.lastUsedAt?.getTime() ?? null,
  revokedAt: row.revokedAt?.getTime() ?? null,
});

/** Returns all tokens for an admin, else the caller's own; newest first. */
async function list({ hub, caller }: Context & { caller: PersonCaller }): Promise<ApiTokenView[]> {
  const rows = await hub.db.apiToken.findMany({
    where: caller.person.role === "admin" ? {} : { userId: caller.person.id },
    include: { user: true },
    orderBy: { createdAt: "desc" },
    take: 500,
  });
  return rows.map(viewOf);
}

/** Creates a token. @throws Fault ROLE_REQUIRED (above one's own role), IN_USE (too many) */
async function create(
  { hub, caller }: Context & { caller: SessionCaller },
  input: z.infer<typeof createApiTokenInput>,
): Promise<{ view: ApiTokenView; token: string }> {
  const { person } = caller;
  if (!hasRole(person.role, input.role)) {
    throw new Fault("ROLE_REQUIRED", { detail: `a token of yours can be ${person.role} at most` });
  }
  const token = newSecret("tmk");
  const now = hub.now();
  const row = await hub.db.$transaction(async (tx) => {
    const good = { userId: person.id, revokedAt: null, expiresAt: { gt: new Date(now) } };
    if ((await tx.apiToken.count({ where: good })) >= MOST_PER_ACCOUNT) {
      throw new Fault("IN_USE", { subject: "API tokens", detail: `there are ${MOST_PER_ACCOUNT} of yours already` });
    }
    const made = await tx.apiToken.create({
      data: {
        id: newId(),
        hash: hashOf(token),
        hint: token.slice(0, HINT_LENGTH),
        name: input.name,
        role: input.role,
        userId: person.id,
        createdAt: new Date(now),
        expiresAt: new Date(now + input.validMs),
        lastUsedAt: null,
        revokedAt: null,
      },
      include: { user: true },
    });
    const about = { action: `create API token (${input.role})`, subject: made.name, subjectId: made.id };
    await audit({ db: tx, now: hub.now }, caller, about);
    return made;
  });
  emit(hub, null, ["account"]);
  return { view: viewOf(row), token };
}

/** Revokes one's own token, or any token as an admin. Its open streams end within a second. @throws Fault NOT_FOUND */
async function revoke(
  { hub, caller }: Context & { caller: PersonCaller },
  input: { id: string },
): Promise<{ ok: true }> {
  await hub.db.$transaction(async (tx) => {
    const row = await tx.apiToken.findUnique({ where: { id: input.id } });
    const isTheirs = row !== null && (row.userId === caller.person.id || caller.person.role === "admin");
    if (!isTheirs) throw new Fault("NOT_FOUND", { subject: "this API token" });
    if (row.revokedAt !== null) return;
    await tx.apiToken.update({ where: { id: row.id }, data: { revokedAt: new Date(hub.now()) } });
    const about = { action: "revoke API token", subject: row.name, subjectId: row.id };
    await audit({ db: tx, now: hub.now }, caller, about);
  });
  hub.live.endSession();
  emit(hub, null, ["account"]);
  return { ok: true };
}

export const apiTokensRouter = router({
  list: viewer.query(({ ctx }) => list(ctx)),
  create: viewerHere.input(createApiTokenInput).mutation(({ ctx, input }) => create(ctx, input)),
  revoke: viewer.input(byId).mutation(({ ctx, input }) => revoke(ctx, input)),
});
