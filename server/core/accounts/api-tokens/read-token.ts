import { Fault } from "#protocol/faults/fault.ts";
import { hasRole, role } from "#protocol/wire/requests.ts";
import type { ApiToken, User } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { hashOf } from "#server/platform/random-id.ts";
import type { PersonCaller } from "../../api/caller.ts";

/** The time of last use is updated at most this often. */
const USED_STEP_MS = 60_000;

/** Returns why a token is refused, or null. Only the holder of the token learns the reason. */
function whyNot(row: ApiToken & { user: User }, now: number): string | null {
  if (row.revokedAt !== null) return "it was revoked";
  if (now >= row.expiresAt.getTime()) return "it has expired";
  if (row.user.disabledAt !== null) return "the account it belongs to is disabled";
  return null;
}

/**
 * Returns the caller of an API token. Its role is at most that of its owner now, whatever it was created with. @throws Fault
 * API_TOKEN_REFUSED
 */
export async function readToken(hub: Pick<Hub, "db" | "now">, token: string): Promise<PersonCaller> {
  const row = await hub.db.apiToken.findUnique({ where: { hash: hashOf(token) }, include: { user: true } });
  if (row === null) throw new Fault("API_TOKEN_REFUSED");
  const now = hub.now();
  const detail = whyNot(row, now);
  if (detail !== null) throw new Fault("API_TOKEN_REFUSED", { detail });
  if (now - (row.lastUsedAt?.getTime() ?? 0) > USED_STEP_MS) {
    await hub.db.apiToken.updateMany({ where: { id: row.id }, data: { lastUsedAt: new Date(now) } });
  }
  const [own, owners] = [role.parse(row.role), role.parse(row.user.role)];
  const { id, email } = row.user;
  const person = { id, email, role: hasRole(owners, own) ? own : owners };
  return { kind: "token", person, tokenId: row.id, tokenName: row.name };
}

/** Returns whether a token that was valid when its stream began still is. */
export async function isTokenGood(hub: Pick<Hub, "db" | "now">, id: string): Promise<boolean> {
  const row = await hub.db.apiToken.findUnique({ where: { id }, include: { user: true } });
  return row !== null && whyNot(row, hub.now()) === null;
}
