import { Fault } from "#protocol/faults/fault.ts";
import type { UserView } from "#protocol/fleet/people.ts";
import { role, type Role } from "#protocol/wire/requests.ts";
import type { Transaction } from "#prisma/open.ts";
import type { User } from "#prisma/client/client.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { Context } from "#server/core/api/trpc.ts";
import type { PersonCaller } from "../../api/caller.ts";

/**
 * Manages the accounts of this hub. At least one enabled account is always an admin. Changes check that inside their
 * transaction, so two admins who remove each other cannot both succeed.
 */

/** Returns all accounts by e-mail address. */
export async function listUsers(hub: Hub): Promise<UserView[]> {
  const good = { expiresAt: { gt: new Date(hub.now()) } };
  const rows = await hub.db.user.findMany({
    orderBy: { email: "asc" },
    include: {
      sessions: { where: good, select: { seenAt: true } },
      tokens: { where: { ...good, revokedAt: null }, select: { id: true } },
    },
  });
  return rows.map((row) => ({
    id: row.id,
    email: row.email,
    role: role.parse(row.role),
    createdAt: row.createdAt.getTime(),
    disabledAt: row.disabledAt?.getTime() ?? null,
    seenAt: row.sessions.length === 0 ? null : Math.max(...row.sessions.map(({ seenAt }) => seenAt.getTime())),
    sessions: row.sessions.length,
    apiTokens: row.tokens.length,
  }));
}

/** Checks that another admin remains. @throws Fault LAST_ADMIN when `user` is the only enabled admin */
export async function keepAnAdmin(tx: Transaction, user: User): Promise<void> {
  if (user.role !== "admin" || user.disabledAt !== null) return;
  const others = await tx.user.count({ where: { role: "admin", disabledAt: null, id: { not: user.id } } });
  if (others === 0) throw new Fault("LAST_ADMIN", { subject: user.email });
}

/** Revokes the open links that a former admin created. */
export const closeLinksOf = async (tx: Transaction, user: User, at: Date): Promise<void> => {
  await tx.oneTimeCode.updateMany({
    where: { madeById: user.id, usedAt: null, revokedAt: null },
    data: { revokedAt: at },
  });
};

type Asked = Context & { caller: PersonCaller };

/** Changes one account in a transaction, together with its audit entry. @throws Fault NOT_FOUND, and those of `make` */
async function change(
  { hub, caller }: Asked,
  about: { id: string; action: string },
  make: (tx: Transaction, user: User) => Promise<void>,
): Promise<{ ok: true }> {
  await hub.db.$transaction(async (tx) => {
    const user = await tx.user.findUnique({ where: { id: about.id } });
    if (user === null) throw new Fault("NOT_FOUND", { subject: "this account" });
    await make(tx, user);
    await audit({ db: tx, now: hub.now }, caller, { action: about.action, subject: user.email, subjectId: user.id });
  });
  hub.live.endSession();
  emit(hub, null, ["account"]);
  return { ok: true };
}

/** Changes the role of an account. @throws Fault NOT_FOUND, LAST_ADMIN */
export const setRole = (context: Asked, input: { id: string; role: Role }): Promise<{ ok: true }> =>
  change(context, { id: input.id, action: `make ${input.role}` }, async (tx, user) => {
    if (input.role !== "admin") {
      await keepAnAdmin(tx, user);
      await closeLinksOf(tx, user, new Date(context.hub.now()));
    }
    await tx.user.update({ where: { id: user.id }, data: { role: input.role } });
  });

/**
 * Disables an account: its sessions end, and its open streams end within a second. Its API tokens are refused while it is
 * disabled, and its open links are revoked. @throws Fault NOT_FOUND, LAST_ADMIN
 */
export const disableUser = (context: Asked, input: { id: string }): Promise<{ ok: true }> =>
  change(context, { id: input.id, action: "disable account" }, async (tx, user) => {
    if (user.disabledAt !== null) return;
    await keepAnAdmin(tx, user);
    const at = new Date(context.hub.now());
    await tx.user.update({ where: { id: user.id }, data: { disabledAt: at } });
    await closeLinksOf(tx, user, at);
    await tx.session.deleteMany({ where: { userId: user.id } });
  });

/** Enables a disabled account. @throws Fault NOT_FOUND */
export const enableUser = (context: Asked, input: { id: string }): Promise<{ ok: true }> =>
  change(context, { id: input.id, action: "enable account" }, async (tx, user) => {
    await tx.user.update({ where: { id: user.id }, data: { disabledAt: null } });
  });

/** Removes an account. Its audit entries stay, under its id. @throws Fault NOT_FOUND, LAST_ADMIN */
export const removeUser = (context: Asked, input: { id: string }): Promise<{ ok: true }> =>
  change(context, { id: input.id, action: "remove account" }, async (tx, user) => {
    await keepAnAdmin(tx, user);
    await closeLinksOf(tx, user, new Date(context.hub.now()));
    await tx.user.delete({ where: { id: user.id } });
  });
