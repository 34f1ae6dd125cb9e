import { setImmediate } from "node:timers/promises";
import { bucketOf } from "#protocol/history/histogram.ts";
import { addRisks } from "#protocol/wire/risk.ts";
import type { Hub } from "../api/hub.ts";
import { risksOf, take, type LiveNode, type Meter } from "../live/live-node.ts";
import type { Transaction } from "#prisma/open.ts";
import { countMinute } from "./reader/count-values.ts";
import { NO_BUCKET, packMinute, unpackMinute, type MinuteEntry } from "#protocol/history/minute-bytes.ts";
import { numberPlace, placeOf } from "./places.ts";
import { cellFor, packRoll, type Cells } from "#protocol/history/roll-bytes.ts";
import { LEVELS, MINUTE_MS, shelfOf, WHOLE_SHELF } from "./stretch.ts";
import type { Numbered, Place } from "../api/ports/history.ts";

/**
 * Writes down the minute that ends: each node that reported in it, the sums of the fleet, and the histograms of all nodes
 * together. A node that did not report leaves a gap. If a minute is written twice, a node's newer entry replaces the older
 * one.
 */

const NUMBERED_AT_ONCE = 100;

interface Heard {
  place: Place;
  entry: Omit<MinuteEntry, "series">;
}

/** Returns 0 for a value that would spoil the sums over nodes. */
const finite = (value: number): number => (Number.isFinite(value) ? value : 0);

const bucketOfMeter = (meter: Meter): number => (meter.count === 0 ? NO_BUCKET : bucketOf(take(meter)));

function entryOf(node: LiveNode, now: number): Heard["entry"] {
  const risk = addRisks(risksOf(node, now));
  const { up, down, upBusy, downBusy } = node.minute;
  return {
    up: finite(take(up)),
    down: finite(take(down)),
    atRiskBytes: finite(risk.bytes),
    lossMs: finite(risk.lossMs),
    rttMs: node.report?.rttMs ?? null,
    cpuPercent: node.report?.cpuPercent ?? null,
    upBucket: bucketOfMeter(upBusy),
    downBucket: bucketOfMeter(downBusy),
  };
}

async function heardNodes(hub: Hub, now: number): Promise<Heard[]> {
  const profiles = new Map((await hub.db.profile.findMany()).map((profile) => [profile.id, profile]));
  const heard: Heard[] = [];
  for (const node of hub.live.nodes.values()) {
    if (node.minute.up.count === 0) continue;
    const profile = profiles.get(node.profileId);
    if (profile === undefined) continue;
    try {
      const entry = entryOf(node, now);
      const place = placeOf(node, { profile, rules: hub.history.rules });
      heard.push({ place, entry });
    } catch (error) {
      // A bad report of one node must not lose the minute of all nodes.
      hub.log.error({ error, node: node.id }, "the minute of a node could not be written");
    }
  }
  return heard;
}

export async function writeMinute(hub: Hub, now: number): Promise<void> {
  const minute = Math.floor(now / MINUTE_MS);
  const heard = await heardNodes(hub, now);
  if (heard.length === 0) return;
  await numberFresh(hub, heard);
  await hub.db.$transaction(async (tx) => {
    const shelves = new Map<number, MinuteEntry[]>();
    const wholeOf = new Map<number, number>();
    for (const { place, entry } of heard) {
      const numbered = hub.history.places.known(place) ?? (await numberPlace(tx, place));
      wholeOf.set(numbered.seriesId, numbered.wholeId);
      const shelf = shelfOf(numbered.node);
      const entries = shelves.get(shelf) ?? [];
      entries.push({ ...entry, series: numbered.seriesId });
      shelves.set(shelf, entries);
    }
    for (const [shelf, entries] of shelves) await putShelf(tx, { shelf, minute, entries });
    await putWhole(tx, { minute, wholeOf });
  });
}

/** Numbers new nodes in batches, so that thousands of them do not block the event loop. */
async function numberFresh(hub: Hub, heard: readonly Heard[]): Promise<void> {
  const { places } = hub.history;
  const fresh = heard.filter(({ place }) => places.known(place) === null).map(({ place }) => place);
  for (let from = 0; from < fresh.length; from += NUMBERED_AT_ONCE) {
    const some = fresh.slice(from, from + NUMBERED_AT_ONCE);
    const numbers = await hub.db.$transaction(async (tx) => {
      const numbers: Numbered[] = [];
      for (const place of some) numbers.push(await numberPlace(tx, place));
      return numbers;
    });
    for (const [at, place] of some.entries()) {
      const numbered = numbers[at];
      if (numbered !== undefined) places.keep(place, numbered);
    }
    await setImmediate();
  }
}

/** Writes the entries and keeps what the row holds of other nodes. */
async function putShelf(
  tx: Transaction,
  about: { shelf: number; minute: number; entries: MinuteEntry[] },
): Promise<void> {
  const { shelf, minute, entries } = about;
  const where = { shelf_minute: { shelf, minute } };
  const before = await tx.historyMinute.findUnique({ where });
  const isNew = new Set(entries.map(({ series }) => series));
  const others = before === null ? [] : [...unpackMinute(before.body)].filter(({ series }) => !isNew.has(series));
  const body = packMinute([...others, ...entries]);
  if (before === null) await tx.historyMinute.create({ data: { shelf, minute, body } });
  else await tx.historyMinute.update({ where, data: { body } });
}

/** Sums up the stored rows rather than the new entries, so that a minute written in two parts is complete. */
async function putWhole(tx: Transaction, about: { minute: number; wholeOf: Map<number, number> }): Promise<void> {
  const { minute, wholeOf } = about;
  const total = { upBytesPerSecond: 0, downBytesPerSecond: 0, atRiskBytes: 0, lossMs: 0, rttSumMs: 0, rttCount: 0 };
  const cells: Cells = new Map();
  const bodies = await tx.historyMinute.findMany({ where: { minute } });
  const ids = bodies.flatMap(({ body }) => [...unpackMinute(body)].map(({ series }) => series));
  const missing = ids.filter((id) => !wholeOf.has(id));
  if (missing.length > 0) {
    const rows = await tx.historySeries.findMany({
      where: { id: { in: missing } },
      select: { id: true, wholeId: true },
    });
    for (const { id, wholeId } of rows) wholeOf.set(id, wholeId);
  }
  for (const { body } of bodies) {
    countMinute(body, (series, kind) => cellFor(cells, wholeOf.get(series) ?? 0, kind));
    for (const { up, down, atRiskBytes, lossMs, rttMs } of unpackMinute(body)) {
      total.upBytesPerSecond += finite(up);
      total.downBytesPerSecond += finite(down);
      total.atRiskBytes += finite(atRiskBytes);
      total.lossMs += finite(lossMs);
      total.rttSumMs += finite(rttMs ?? 0);
      total.rttCount += rttMs === null ? 0 : 1;
    }
  }
  await tx.fleetMinute.upsert({ where: { minute }, create: { minute, ...total }, update: total });
  const at = { level: LEVELS.minute, shelf: WHOLE_SHELF, stretch: minute };
  const body = packRoll(cells);
  await tx.historyRoll.upsert({ where: { level_shelf_stretch: at }, create: { ...at, body }, update: { body } });
}
