import { CHANNEL_KINDS, channelSecret, type ChannelKind } from "#protocol/alerts.ts";
import type { AlertMessage } from "#protocol/alert-views.ts";
import { Fault, sentenceOf, toFault } from "#protocol/fault.ts";
import type { AlertChannel, AlertChannelSecret, AlertMessage as Row } from "#prisma/client/client.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import { channelPlace } from "../keeper/secret-place.ts";
import type { Hub } from "../hub.ts";
import { postRequest } from "./post-request.ts";
import { writeRequest } from "./write-request.ts";

/**
 * Hands over what lies in the outbox: the channels side by side, the messages of one in their order, no more in a minute
 * than it may get. A try that failed is repeated after a while, each time a longer one; one that cannot succeed, or failed too
 * often, is given up, and that is an event. A kill between the other end's yes and ours sends it again under the same key.
 */

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 15 * 60_000;
/** About an hour and a half of trying. */
export const MOST_TRIES = 12;
const AT_ONCE = 500;
const MINUTE_MS = 60_000;
const KEPT_MS = 30 * 86_400_000;

export type Channel = AlertChannel & { secret: AlertChannelSecret | null };

const isKind = (kind: string): kind is ChannelKind => CHANNEL_KINDS.some((known) => known === kind);

/** One try. @throws Fault CHANNEL_REFUSED, CHANNEL_UNREACHABLE, CANCELLED, those of the keeper */
export async function handOver(hub: Hub, channel: Channel, { id, message }: { id: string; message: AlertMessage }) {
  if (channel.secret === null || !isKind(channel.kind)) {
    throw new Fault("CHANNEL_REFUSED", { subject: channel.name, detail: "it has no address" });
  }
  const place = channelPlace(channel.id);
  const { text } = await hub.keeper.openText({ place, sealed: channel.secret.sealed });
  const secret = channelSecret.parse(JSON.parse(text));
  const outgoing = writeRequest(channel.kind, { id, message, secret, now: hub.now() });
  await postRequest(outgoing, { reach: hub.reach, signal: hub.closing });
}

/** Hands over everything that is due. Resolves when each of it was tried once. Asks for nothing while nothing waits. */
export const deliverDue = async (hub: Hub): Promise<void> => {
  if (!hub.live.mayAlertsWait) return;
  await hub.locks.run("alerts outbox", async () => {
    hub.live.mayAlertsWait = false;
    try {
      await deliverWaiting(hub);
      if ((await hub.db.alertMessage.count({ where: { state: "waiting" } })) > 0) hub.live.mayAlertsWait = true;
    } catch (error) {
      hub.live.mayAlertsWait = true;
      throw error;
    }
  });
};

async function deliverWaiting(hub: Hub): Promise<void> {
  const due = await hub.db.alertMessage.findMany({
    where: { state: "waiting", nextAt: { lte: new Date(hub.now()) } },
    orderBy: [{ createdAt: "asc" }, { id: "asc" }],
    include: { channel: { include: { secret: true } } },
    take: AT_ONCE,
  });
  const byChannel = new Map<string, typeof due>();
  for (const row of due) byChannel.set(row.channelId, [...(byChannel.get(row.channelId) ?? []), row]);
  await Promise.all(
    [...byChannel.values()].map(async (rows) => {
      for (const row of rows.slice(0, await roomOf(hub, rows[0]?.channel))) {
        if (hub.closing.aborted || !(await deliver(hub, row.channel, row))) return;
      }
    }),
  );
  if (due.length > 0) hub.live.markStale(["alerts"]);
}

/** How many more this channel may get now. */
async function roomOf(hub: Hub, channel: AlertChannel | undefined): Promise<number> {
  if (channel === undefined || !channel.isEnabled) return 0;
  const since = new Date(hub.now() - MINUTE_MS);
  const sent = await hub.db.alertMessage.count({
    where: { channelId: channel.id, state: "sent", endedAt: { gte: since } },
  });
  return Math.max(0, channel.perMinute - sent);
}

/** False when the channel is better left alone for now. */
async function deliver(hub: Hub, channel: Channel, row: Row): Promise<boolean> {
  const message = JSON.parse(row.body) as AlertMessage;
  try {
    await handOver(hub, channel, { id: row.id, message });
  } catch (error) {
    const fault = toFault(error, { op: "alert", subject: channel.name });
    if (fault.code === "CANCELLED") return false;
    await noteFailure(hub, { channel, row, message, fault });
    return false;
  }
  const at = new Date(hub.now());
  await hub.db.$transaction([
    hub.db.alertMessage.update({ where: { id: row.id }, data: { state: "sent", endedAt: at, fault: null } }),
    hub.db.alertChannel.update({ where: { id: channel.id }, data: { lastSentAt: at, lastFault: null } }),
  ]);
  return true;
}

async function noteFailure(
  hub: Hub,
  about: { channel: Channel; row: Row; message: AlertMessage; fault: Fault },
): Promise<void> {
  const { channel, row, message, fault } = about;
  const now = hub.now();
  const tries = row.tries + 1;
  const isOver = fault.retry === "never" || tries >= MOST_TRIES;
  const backoffMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** row.tries);
  const waitMs = Math.max(backoffMs, Math.min(LONGEST_WAIT_MS, fault.context.retryAfterMs ?? 0));
  const said = JSON.stringify(fault.toData());
  const ended = isOver ? { state: "given-up", endedAt: new Date(now) } : { nextAt: new Date(now + waitMs) };
  await hub.db.$transaction([
    hub.db.alertMessage.update({ where: { id: row.id }, data: { tries, fault: said, ...ended } }),
    hub.db.alertChannel.update({ where: { id: channel.id }, data: { lastFault: said } }),
  ]);
  if (!isOver) return;
  const text = `The channel ${channel.name} could not be told “${message.title}” ${sentenceOf(fault.toData())}`;
  const line = { at: now, kind: "alert-undelivered" as const, work: "risk" as const, text, fault: fault.toData() };
  emit(hub, await recordEvent(hub.db, line), ["alerts"]);
}

/** Forgets messages and alerts that ended long ago. */
export async function forgetAlerts(hub: Hub): Promise<void> {
  const before = new Date(hub.now() - KEPT_MS);
  await hub.db.alertMessage.deleteMany({ where: { endedAt: { lt: before } } });
  await hub.db.alert.deleteMany({ where: { openKey: null, resolvedAt: { lt: new Date(hub.now() - 3 * KEPT_MS) } } });
}
