import { channelSecret } from "#protocol/alerts/alerts.ts";
import type { AlertMessage } from "#protocol/alerts/alert-views.ts";
import { isChannelKind, wholeSecret } from "#protocol/alerts/channel-kinds.ts";
import { Fault, sentenceOf, toFault } from "#protocol/faults/fault.ts";
import type { AlertChannel, AlertChannelSecret, AlertMessage as Row } from "#prisma/client/client.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { channelPlace } from "#server/signer/secret-place.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { postRequest } from "#server/platform/post-request.ts";
import { sendMail } from "./send-mail.ts";
import { writeMail } from "./write-mail.ts";
import { writeRequests } from "#storage/webhooks/write-request.ts";

/**
 * Delivers the messages of the outbox. Channels proceed independently, so that a slow receiver delays no other channel. Each
 * channel gets its gravest messages first, then the oldest, within its limit per minute. A failed try is repeated with
 * exponential back-off. A message that cannot succeed, or failed too often, is given up, and an event records it. A kill
 * between the receiver's answer and the commit sends a message again under the same idempotency key.
 */

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 15 * 60_000;
/** About an hour of tries and back-off. */
export const MOST_TRIES = 12;
const MINUTE_MS = 60_000;
const KEPT_MS = 30 * 86_400_000;

export type Channel = AlertChannel & { secret: AlertChannelSecret | null };

/** Tries once to deliver a message. @throws Fault CHANNEL_REFUSED, CHANNEL_UNREACHABLE, CANCELLED, those of the signer */
export async function handOver(hub: Hub, channel: Channel, { id, message }: { id: string; message: AlertMessage }) {
  const { kind } = channel;
  if (channel.secret === null || !isChannelKind(kind)) {
    throw new Fault("CHANNEL_REFUSED", { subject: channel.name, detail: "it has no address" });
  }
  const place = channelPlace(channel.id);
  const { text } = await hub.signer.openText({ place, sealed: channel.secret.sealed });
  const secret = wholeSecret(kind, channelSecret.parse(JSON.parse(text)));
  const incident = `tidemark-${channel.id}-${message.ruleId ?? id}`;
  const by = { reach: hub.reach, signal: hub.closing };
  if (kind === "email") return sendMail(writeMail({ id, message, secret, incident }), { secret, ...by });
  for (const request of writeRequests(kind, { id, message, secret, incident, now: hub.now() })) {
    await postRequest(request, by);
  }
}

/** Delivers due messages; resolves when each channel has sent them, met its limit or failed. Queries nothing while none wait. */
export const deliverDue = async (hub: Hub): Promise<void> => void (await Promise.all(await beginDue(hub)));

/** Starts delivery to each channel that has due messages and is not sending. Each promise resolves after the channel's last try. */
export async function beginDue(hub: Hub): Promise<Promise<void>[]> {
  if (!hub.live.mayAlertsWait) return [];
  return hub.locks.run("alerts outbox", async () => {
    hub.live.mayAlertsWait = false;
    try {
      const now = new Date(hub.now());
      const due = await hub.db.alertMessage.groupBy({
        by: ["channelId"],
        where: { state: "waiting", nextAt: { lte: now }, channel: { isEnabled: true } },
      });
      if ((await hub.db.alertMessage.count({ where: { state: "waiting" } })) > 0) hub.live.mayAlertsWait = true;
      return due.flatMap(({ channelId }) => (hub.alerts.sending.has(channelId) ? [] : [begin(hub, channelId)]));
    } catch (error) {
      hub.live.mayAlertsWait = true;
      throw error;
    }
  });
}

function begin(hub: Hub, channelId: string): Promise<void> {
  const sending = deliverWaiting(hub, channelId).finally(() => {
    hub.alerts.sending.delete(channelId);
    hub.live.mayAlertsWait = true;
    hub.live.markStale(["alerts"]);
  });
  hub.alerts.sending.set(channelId, sending);
  return sending;
}

async function deliverWaiting(hub: Hub, channelId: string): Promise<void> {
  const channel = await hub.db.alertChannel.findUnique({ where: { id: channelId }, include: { secret: true } });
  const room = channel === null ? 0 : await roomOf(hub, channel);
  if (channel === null || room === 0) return;
  const rows = await hub.db.alertMessage.findMany({
    where: { channelId, state: "waiting", nextAt: { lte: new Date(hub.now()) } },
    orderBy: [{ rank: "asc" }, { createdAt: "asc" }, { id: "asc" }],
    take: room,
  });
  for (const row of rows) {
    if (hub.closing.aborted || !(await deliver(hub, channel, row))) return;
  }
}

/** Returns how many more messages the channel may get in the current minute. */
async function roomOf(hub: Hub, channel: AlertChannel): Promise<number> {
  if (!channel.isEnabled) return 0;
  const since = new Date(hub.now() - MINUTE_MS);
  const sent = await hub.db.alertMessage.count({
    where: { channelId: channel.id, state: "sent", endedAt: { gte: since } },
  });
  return Math.max(0, channel.perMinute - sent);
}

/** Delivers one message. Returns false when the channel should get no further message for now. */
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
  // `updateMany` accepts that the row or the channel was removed meanwhile.
  await hub.db.$transaction([
    hub.db.alertMessage.updateMany({ where: { id: row.id }, data: { state: "sent", endedAt: at, fault: null } }),
    hub.db.alertChannel.updateMany({ where: { id: channel.id }, data: { lastSentAt: at, lastFault: null } }),
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
    hub.db.alertMessage.updateMany({ where: { id: row.id }, data: { tries, fault: said, ...ended } }),
    hub.db.alertChannel.updateMany({ where: { id: channel.id }, data: { lastFault: said } }),
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
