import type { Hub } from "../api/hub.ts";

const EVENTS_KEPT_MS = 90 * 86_400_000;

/**
 * Deletes events after 90 days, expired sessions, and audit entries after the period that the operator set. An audit entry
 * that counts several uses is as old as its last use.
 */
export async function forgetOld(hub: Pick<Hub, "db" | "now" | "settings">): Promise<void> {
  const now = hub.now();
  await hub.db.event.deleteMany({ where: { at: { lt: new Date(now - EVENTS_KEPT_MS) } } });
  await hub.db.session.deleteMany({ where: { expiresAt: { lt: new Date(now) } } });
  const before = new Date(now - hub.settings.auditKeptMs);
  await hub.db.audit.deleteMany({
    where: { at: { lt: before }, OR: [{ lastAt: null }, { lastAt: { lt: before } }] },
  });
}
