import type * as z from "zod";
import { MOST_CHANNELS, type createChannelInput, type updateChannelInput } from "#protocol/alerts/alerts.ts";
import {
  channelKind,
  hintOf,
  isChannelKind,
  wholeSecret,
  type ChannelKind,
  type ChannelSecret,
} from "#protocol/alerts/channel-kinds.ts";
import type { ChannelView, TestAnswer } from "#protocol/alerts/alert-views.ts";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import { audit } from "#server/core/api/audit.ts";
import { storedFault } from "#server/core/events/event-row.ts";
import { emit } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { refuseEndpoint } from "#server/platform/reach.ts";
import { newId } from "#server/platform/random-id.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { testMessage } from "./compose-message.ts";
import { channelPlace } from "#server/signer/secret-place.ts";
import { handOver } from "./deliver.ts";
import { ALERTS_LOCK } from "./evaluate.ts";
import { mailEndpointOf } from "./send-mail.ts";

/** Manages alert channels. The signer process seals an address and its key like the key of a bucket; they are never shown again. */

const kindOf = (kind: string): ChannelKind => (isChannelKind(kind) ? kind : "webhook");

export async function listChannels(hub: Hub): Promise<ChannelView[]> {
  const rows = await hub.db.alertChannel.findMany({ orderBy: { name: "asc" } });
  const waiting = await hub.db.alertMessage.groupBy({
    by: ["channelId"],
    where: { state: "waiting" },
    _count: { _all: true },
  });
  const counts = new Map(waiting.map(({ channelId, _count }) => [channelId, _count._all]));
  return rows.map((row) => ({
    id: row.id,
    version: row.version,
    channel: {
      name: row.name,
      kind: kindOf(row.kind),
      perMinute: row.perMinute,
      isEnabled: row.isEnabled,
      isDefault: row.isDefault,
    },
    hint: row.hint,
    waiting: counts.get(row.id) ?? 0,
    lastSentAt: row.lastSentAt?.getTime() ?? null,
    lastFault: storedFault(row.lastFault),
    updatedAt: row.updatedAt.getTime(),
  }));
}

/** Checks that the hub may connect to the address of a channel. @throws Fault ENDPOINT_REFUSED */
const refuseAddress = (hub: Hub, kind: ChannelKind, secret: ChannelSecret): Promise<void> =>
  refuseEndpoint(
    channelKind(kind).transport === "smtp" ? mailEndpointOf(secret) : new URL(secret.url).origin,
    hub.reach,
  );

async function refuseTakenName(hub: Hub, name: string, exceptId: string | null): Promise<void> {
  const taken = await hub.db.alertChannel.findUnique({ where: { name } });
  if (taken === null || taken.id === exceptId) return;
  throw new Fault("CONFLICT", { subject: name, detail: "another channel has this name" });
}

const seal = (hub: Hub, id: string, secret: ChannelSecret): Promise<{ sealed: string; keyVersion: number }> =>
  hub.signer.sealText({ place: channelPlace(id), text: JSON.stringify(secret) });

/** Adds a channel. @throws Fault ENDPOINT_REFUSED, CONFLICT when the name is taken */
export async function createChannel(
  context: Context,
  { channel, secret: typed, forAllRules }: z.infer<typeof createChannelInput>,
): Promise<{ id: string }> {
  const { hub } = context;
  const secret = wholeSecret(channel.kind, typed);
  await refuseAddress(hub, channel.kind, secret);
  await refuseTakenName(hub, channel.name, null);
  const id = newId();
  const sealed = await seal(hub, id, secret);
  const at = new Date(hub.now());
  const hint = hintOf(channel.kind, secret);
  await hub.db.alertChannel.create({
    data: { id, version: 1, ...channel, hint, createdAt: at, updatedAt: at, secret: { create: sealed } },
  });
  if (forAllRules) await nameInAllRules(hub, id);
  await audit(hub, context.caller, { action: "add alert channel", subject: channel.name });
  emit(hub, null, ["alerts"]);
  return { id };
}

/** Adds a channel to every rule that names fewer than `MOST_CHANNELS`. */
const nameInAllRules = (hub: Hub, id: string): Promise<void> =>
  hub.locks.run(ALERTS_LOCK, async () => {
    for (const rule of hub.alerts.rules.values()) {
      if (rule.channelIds.length >= MOST_CHANNELS || rule.channelIds.includes(id)) continue;
      const channelIds = [...rule.channelIds, id];
      await hub.db.alertRule.update({ where: { id: rule.id }, data: { channels: JSON.stringify(channelIds) } });
      rule.channelIds = channelIds;
    }
  });

/**
 * Changes a channel.
 * @throws Fault NOT_FOUND, ENDPOINT_REFUSED, CONFLICT (changed meanwhile, name taken, new kind without address)
 */
export async function updateChannel(
  context: Context,
  { id, version, channel, secret: typed }: z.infer<typeof updateChannelInput>,
): Promise<{ ok: true }> {
  const { hub } = context;
  const secret = typed === null ? null : wholeSecret(channel.kind, typed);
  const before = await hub.db.alertChannel.findUnique({ where: { id } });
  if (before === null) throw new Fault("NOT_FOUND", { subject: "this channel" });
  if (secret === null && before.kind !== channel.kind) {
    throw new Fault("CONFLICT", { subject: before.name, detail: "another kind needs its own address" });
  }
  if (secret !== null) await refuseAddress(hub, channel.kind, secret);
  await refuseTakenName(hub, channel.name, id);
  const sealed = secret === null ? null : await seal(hub, id, secret);
  const hint = secret === null ? {} : { hint: hintOf(channel.kind, secret), lastFault: null };
  await hub.db.$transaction(async (tx) => {
    const { count } = await tx.alertChannel.updateMany({
      where: { id, version },
      data: { ...channel, ...hint, version: version + 1, updatedAt: new Date(hub.now()) },
    });
    if (count === 0) throw new Fault("CONFLICT", { subject: before.name });
    if (sealed !== null) await tx.alertChannelSecret.update({ where: { channelId: id }, data: sealed });
  });
  await audit(hub, context.caller, { action: "change alert channel", subject: channel.name });
  emit(hub, null, ["alerts"]);
  return { ok: true };
}

/** Removes a channel with its waiting messages, also from the rules that name it. @throws Fault NOT_FOUND */
export async function removeChannel(context: Context, { id }: { id: string }): Promise<{ ok: true }> {
  const { hub } = context;
  const before = await hub.db.alertChannel.findUnique({ where: { id } });
  if (before === null) throw new Fault("NOT_FOUND", { subject: "this channel" });
  await hub.db.alertChannel.delete({ where: { id } });
  for (const rule of hub.alerts.rules.values()) {
    if (!rule.channelIds.includes(id)) continue;
    const channelIds = rule.channelIds.filter((one) => one !== id);
    await hub.db.alertRule.update({ where: { id: rule.id }, data: { channels: JSON.stringify(channelIds) } });
    rule.channelIds = channelIds;
  }
  await audit(hub, context.caller, { action: "remove alert channel", subject: before.name });
  emit(hub, null, ["alerts"]);
  return { ok: true };
}

/** Sends a test message at once, past the outbox and the rate limit, and returns the receiver's answer. @throws Fault NOT_FOUND */
export async function testChannel(context: Context, { id }: { id: string }): Promise<TestAnswer> {
  const { hub } = context;
  const channel = await hub.db.alertChannel.findUnique({ where: { id }, include: { secret: true } });
  if (channel === null) throw new Fault("NOT_FOUND", { subject: "this channel" });
  const startedAt = performance.now();
  const fault = await handOver(hub, channel, { id: newId(), message: testMessage(hub) }).then(
    () => null,
    (error: unknown) => toFault(error, { op: "test", subject: channel.name }).toData(),
  );
  const at = new Date(hub.now());
  await hub.db.alertChannel.updateMany({
    where: { id },
    data: { lastFault: fault === null ? null : JSON.stringify(fault), ...(fault === null ? { lastSentAt: at } : {}) },
  });
  await audit(hub, context.caller, { action: "test alert channel", subject: channel.name });
  emit(hub, null, ["alerts"]);
  return { ok: fault === null, kind: kindOf(channel.kind), fault, tookMs: Math.round(performance.now() - startedAt) };
}
