import type { ProbeReport } from "#protocol/links/probe.ts";
import { OWN_ENGINE } from "#protocol/wire/measured.ts";
import type { NodeEvent } from "#protocol/wire/reports.ts";
import { linkDirectionOf } from "#protocol/wire/transfer.ts";
import type { Transaction } from "#prisma/open.ts";
import type { Hub } from "../api/hub.ts";
import type { LiveNode } from "../live/live-node.ts";
import { numberPlace, placeOf } from "./places.ts";
import type { Numbered } from "../api/ports/history.ts";

/** Records what a probe or a transfer measured on a link, in the transaction that records its end. */

interface Scope {
  tx: Transaction;
  hub: Hub;
  node: LiveNode;
}

type Ended = Extract<NodeEvent, { type: "transfer-ended" }>;

async function numbersFor({ tx, hub, node }: Scope, about: { profileId: string; engine: string }): Promise<Numbered> {
  const profile = await tx.profile.findUnique({ where: { id: about.profileId } });
  const gone = { id: about.profileId, provider: "other", region: "" };
  const place = placeOf(node, { profile: profile ?? gone, rules: hub.history.rules, engine: about.engine });
  return hub.history.places.known(place) ?? (await numberPlace(tx, place));
}

/** Returns the rate in bytes per second (null when unknown). A worker without measured duration is timed by its own clock. */
function effectiveOf(event: Ended): { effective: number | null; tookMs: number } {
  const { measured } = event;
  const tookMs = measured?.tookMs ?? Math.max(0, event.at - event.startedAt);
  const sentBytes = measured?.sentBytes ?? event.sentBytes;
  return { tookMs, effective: tookMs > 0 && sentBytes > 0 ? (sentBytes * 1000) / tookMs : null };
}

/** Records an ended transfer. One that was superseded, or canceled before a byte moved, says nothing about the link. */
export async function recordTransferLink(scope: Scope, event: Ended, profileId: string): Promise<void> {
  const { tx, hub, node } = scope;
  const { measured, state } = event;
  const direction = linkDirectionOf(event.direction);
  if (direction === null) return;
  if (state === "superseded" || (state === "cancelled" && event.sentBytes === 0)) return;
  const { node: number, seriesId } = await numbersFor(scope, { profileId, engine: measured?.engine ?? OWN_ENGINE });
  const { effective, tookMs } = effectiveOf(event);
  const steady = measured?.steadyBytesPerSecond ?? null;
  await tx.linkRecord.create({
    data: {
      at: new Date(hub.now()),
      kind: direction,
      subjectId: event.transferId,
      node: number,
      seriesId,
      run: event.run,
      outcome: state,
      fault: event.fault?.code ?? null,
      rttMs: measured?.rttMs ?? null,
      up: direction === "upload" ? steady : null,
      down: direction === "download" ? steady : null,
      effective,
      rampMs: measured?.rampMs ?? null,
      tookMs,
      isSteady: measured?.isSteady ?? null,
      burstRate: measured?.burst?.firstBytesPerSecond ?? null,
      lateRate: measured?.burst?.lateBytesPerSecond ?? null,
      sizeBytes: BigInt(event.bytes),
      sentBytes: BigInt(event.sentBytes),
      parts: measured?.parts ?? null,
      partBytes: measured?.partBytes == null ? null : BigInt(measured.partBytes),
      connections: event.connections,
      retries: event.retries,
    },
  });
  if (state === "done" && effective !== null) {
    hub.history.rates.addTransfer({ nodeId: node.id, profileId, direction }, effective);
  }
}

export async function recordProbeLink(scope: Scope, probe: ProbeReport): Promise<void> {
  const { tx, hub, node } = scope;
  const { manner } = probe;
  const { profileId } = node;
  const { node: number, seriesId } = await numbersFor(scope, { profileId, engine: manner?.engine ?? OWN_ENGINE });
  const ways = [manner?.up ?? null, manner?.down ?? null].filter((way) => way !== null);
  const most = (pick: (way: (typeof ways)[number]) => number) =>
    ways.length === 0 ? null : Math.max(...ways.map(pick));
  await tx.linkRecord.create({
    data: {
      at: new Date(hub.now()),
      kind: "probe",
      subjectId: probe.id,
      node: number,
      seriesId,
      run: null,
      outcome: probe.outcome,
      fault: null,
      rttMs: probe.rttMs,
      up: probe.up,
      down: probe.down,
      effective: null,
      rampMs: most(({ rampMs }) => rampMs),
      tookMs: probe.tookMs,
      isSteady: ways.length === 0 ? null : ways.every(({ isSteady }) => isSteady),
      sizeBytes: null,
      sentBytes: ways.length === 0 ? null : BigInt(ways.reduce((sum, { movedBytes }) => sum + movedBytes, 0)),
      parts: null,
      partBytes: null,
      connections: most(({ connections }) => connections),
      retries: probe.attempts - 1,
    },
  });
  const { rates } = hub.history;
  if (probe.up !== null) rates.setProbe({ nodeId: node.id, profileId, direction: "upload" }, probe.up);
  if (probe.down !== null) rates.setProbe({ nodeId: node.id, profileId, direction: "download" }, probe.down);
}
