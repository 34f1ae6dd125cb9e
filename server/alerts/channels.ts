import type * as z from "zod";
import {
  CHANNEL_KINDS,
  type ChannelKind,
  type ChannelSecret,
  type createChannelInput,
  type updateChannelInput,
} from "#protocol/alerts.ts";
import type { ChannelView, TestAnswer } from "#protocol/alert-views.ts";
import { Fault, toFault } from "#protocol/fault.ts";
import { audit } from "../events/audit.ts";
import { storedFault } from "../events/event-row.ts";
import { emit } from "../events/record-event.ts";
import type { Hub } from "../hub.ts";
import { refuseEndpoint } from "../profiles/reach.ts";
import { newId } from "../random-id.ts";
import type { Context } from "../trpc.ts";
import { testMessage } from "./compose-message.ts";
import { channelPlace } from "../keeper/secret-place.ts";
import { handOver } from "./deliver.ts";

/** Where alerts go. An address and its key are sealed by the keeper as the key of a bucket is, and never shown again. */

const kindOf = (kind: string): ChannelKind => CHANNEL_KINDS.find((known) => known === kind) ?? "webhook";

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
    channel: { name: row.name, kind: kindOf(row.kind), perMinute: row.perMinute, isEnabled: row.isEnabled },
    hint: row.hint,
    waiting: counts.get(row.id) ?? 0,
    lastSentAt: row.lastSentAt?.getTime() ?? null,
    lastFault: storedFault(row.lastFault),
    updatedAt: row.updatedAt.getTime(),
  }));
}

/** @throws Fault BAD_INPUT */
async function refuseAddress(hub: Hub, kind: ChannelKind, { url }: ChannelSecret): Promise<void> {
  const { origin, pathname } = new URL(url);
  const refuse = (detail: string) => new Fault("BAD_INPUT", { op: "check the address", subject: "address", detail });
  if (kind === "ntfy" && !/^(\/[^/]+)*\/[A-Za-z0-9_-]{1,64}$/.test(pathname)) {
    throw refuse("the address of an ntfy topic looks like https://ntfy.sh/my-topic");
  }
  await refuseEndpoint(origin, hub.reach);
}

async function refuseTakenName(hub: Hub, name: string, exceptId: string | null): Promise<void> {
  const taken = await hub.db.alertChannel.findUnique({ where: { name } });
  if (taken === null || taken.id === exceptId) return;
  throw new Fault("CONFLICT", { subject: name, detail: "another channel has this name" });
}

const seal = (hub: Hub, id: string, secret: ChannelSecret): Promise<{ sealed: string; keyVersion: number }> =>
  hub.keeper.sealText({ place: channelPlace(id), text: JSON.stringify(secret) });

/** @throws Fault BAD_INPUT (address), CONFLICT (name) */
export async function createChannel(
  context: Context,
  { channel, secret }: z.infer<typeof createChannelInput>,
): Promise<{ id: string }> {
  const { hub } = context;
  await refuseAddress(hub, channel.kind, secret);
  await refuseTakenName(hub, channel.name, null);
  const id = newId();
  const sealed = await seal(hub, id, secret);
  const at = new Date(hub.now());
  const hint = new URL(secret.url).host;
  await hub.db.alertChannel.create({
    data: { id, version: 1, ...channel, hint, createdAt: at, updatedAt: at, secret: { create: sealed } },
  });
  await audit(hub, context.caller, { action: "add alert channel", subject: channel.name });
  emit(hub, null, ["alerts"]);
  return { id };
}

/** @throws Fault NOT_FOUND, CONFLICT (changed in the meantime, the name, another kind without its address), BAD_INPUT */
export async function updateChannel(
  context: Context,
  { id, version, channel, secret }: z.infer<typeof updateChannelInput>,
): Promise<{ ok: true }> {
  const { hub } = context;
  const before = await hub.db.alertChannel.findUnique({ where: { id } });
  if (before === null) throw new Fault("NOT_FOUND", { subject: "this channel" });
  if (secret === null && before.kind !== channel.kind) {
    throw new Fault("CONFLICT", { subject: before.name, detail: "another kind needs its own address" });
  }
  if (secret !== null) await refuseAddress(hub, channel.kind, secret);
  await refuseTakenName(hub, channel.name, id);
  const sealed = secret === null ? null : await seal(hub, id, secret);
  const hint = secret === null ? {} : { hint: new URL(secret.url).host, lastFault: null };
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

/** What waits for it is gone with it; rules that name it go on without. @throws Fault NOT_FOUND */
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

/** Sends a test at once, past the outbox and past its rate, and says what the other end made of it. @throws Fault NOT_FOUND */
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
