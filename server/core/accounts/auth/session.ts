import type { SessionView } from "#protocol/fleet/people.ts";
import { role } from "#protocol/wire/requests.ts";
import type { Person } from "#protocol/wire/views.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { hashOf, newId, newSecret } from "#server/platform/random-id.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { readAgent } from "./read-agent.ts";

/**
 * A signed-in browser holds a random secret in an HttpOnly cookie; the hub holds its hash. A session expires after seven days
 * without use, and after thirty days in any case.
 */

const IDLE_MS = 7 * 86_400_000;
const LONGEST_MS = 30 * 86_400_000;
/** The time of last use is updated at most every five minutes. */
const SEEN_STEP_MS = 300_000;
const LONGEST_AGENT = 256;

export interface OpenSession {
  person: Person;
  hash: string;
}

/** `__Host-` binds the cookie to this host and to https; browsers refuse that name over plain http. */
const SECURE_NAME = "__Host-tidemark";
const PLAIN_NAME = "tidemark";

/**
 * Returns whether the page is served over https. `origin` comes from the hub's public address, or from what a trusted
 * proxy reports.
 */
const isSecure = (origin: string): boolean => origin.startsWith("https:");

const cookieName = (origin: string): string => (isSecure(origin) ? SECURE_NAME : PLAIN_NAME);

const attributes = (origin: string): string => `Path=/; HttpOnly; SameSite=Lax${isSecure(origin) ? "; Secure" : ""}`;

type From = Pick<Context, "address" | "agent" | "origin">;
const NOWHERE: From = { address: "", agent: "", origin: "" };

/** Opens a session; returns the value of the Set-Cookie header. */
export async function openSession(hub: Hub, userId: string, from: From = NOWHERE): Promise<string> {
  const secret = newSecret("tms");
  const now = hub.now();
  await hub.db.session.create({
    data: {
      hash: hashOf(secret),
      id: newId(),
      userId,
      address: from.address,
      agent: from.agent.slice(0, LONGEST_AGENT),
      createdAt: new Date(now),
      seenAt: new Date(now),
      expiresAt: new Date(now + LONGEST_MS),
    },
  });
  return `${cookieName(from.origin)}=${secret}; ${attributes(from.origin)}; Max-Age=${LONGEST_MS / 1000}`;
}

export const clearedCookie = (origin: string): string => `${cookieName(origin)}=; ${attributes(origin)}; Max-Age=0`;

/** Returns the session's secret in a Cookie header, or null. Over https only a cookie that was set over https counts. */
export function secretInCookie(origin: string, header: string | undefined): string | null {
  const wanted = `${cookieName(origin)}=`;
  for (const piece of (header ?? "").split(";")) {
    const pair = piece.trim();
    if (pair.startsWith(wanted)) return pair.slice(wanted.length) || null;
  }
  return null;
}

/** Returns the session with this hash if it is valid, or null. */
export async function readSession(hub: Hub, hash: string): Promise<OpenSession | null> {
  const row = await hub.db.session.findUnique({ where: { hash }, include: { user: true } });
  const now = hub.now();
  if (row === null) return null;
  if (row.user.disabledAt !== null) return null;
  if (now >= row.expiresAt.getTime() || now >= row.seenAt.getTime() + IDLE_MS) {
    await hub.db.session.deleteMany({ where: { hash } });
    return null;
  }
  if (now - row.seenAt.getTime() > SEEN_STEP_MS) {
    await hub.db.session.updateMany({ where: { hash }, data: { seenAt: new Date(now) } });
  }
  const { id, email } = row.user;
  return { person: { id, email, role: role.parse(row.user.role) }, hash };
}

export async function endSession(hub: Hub, hash: string): Promise<void> {
  await hub.db.session.deleteMany({ where: { hash } });
  hub.live.endSession();
}

/** Returns the valid sessions of an account, last used first. */
export async function listSessions(hub: Hub, userId: string, thisHash: string): Promise<SessionView[]> {
  const now = hub.now();
  const rows = await hub.db.session.findMany({
    where: { userId, expiresAt: { gt: new Date(now) }, seenAt: { gt: new Date(now - IDLE_MS) } },
    orderBy: { seenAt: "desc" },
    take: 200,
  });
  return rows.map((row) => ({
    id: row.id,
    createdAt: row.createdAt.getTime(),
    seenAt: row.seenAt.getTime(),
    expiresAt: row.expiresAt.getTime(),
    address: row.address,
    ...readAgent(row.agent),
    isThis: row.hash === thisHash,
  }));
}
