import type { FaultData } from "#protocol/faults/fault.ts";
import type { EventKind } from "#protocol/base/event-kinds.ts";
import type { EventRow, StaleTopic } from "#protocol/wire/views.ts";
import type { WorkState } from "#protocol/wire/risk.ts";
import type { Transaction } from "#prisma/open.ts";
import type { Hub } from "../api/hub.ts";
import { eventRowOf } from "./event-row.ts";

export interface NewEvent {
  at: number;
  kind: EventKind;
  work: WorkState;
  /** The rest of the sentence after the node's name. */
  text: string;
  node?: { id: string; name: string };
  run?: string;
  step?: number;
  /** More lines, untrusted text. */
  detail?: string;
  fault?: FaultData | null;
}

const columnsOf = (event: NewEvent) => ({
  at: new Date(event.at),
  kind: event.kind,
  work: event.work,
  nodeId: event.node?.id ?? null,
  nodeName: event.node?.name ?? null,
  run: event.run ?? null,
  step: event.step === undefined ? null : BigInt(event.step),
  text: event.text,
  detail: event.detail ?? null,
  fault: event.fault === undefined || event.fault === null ? null : JSON.stringify(event.fault),
});

/** Writes an event in the transaction of the change that it reports. Call `emit` after the commit to show it. */
export const recordEvent = async (tx: Pick<Transaction, "event">, event: NewEvent): Promise<EventRow> =>
  eventRowOf(await tx.event.create({ data: columnsOf(event) }));

/** Writes several events in one statement and returns them in order. */
export async function recordEvents(tx: Pick<Transaction, "event">, events: readonly NewEvent[]): Promise<EventRow[]> {
  if (events.length === 0) return [];
  const rows = await tx.event.createManyAndReturn({ data: events.map(columnsOf) });
  return rows.toSorted((a, b) => a.id - b.id).map(eventRowOf);
}

/** Sends a recorded event to every open page, with the topics whose lists it made stale. */
export function emit(hub: Pick<Hub, "live">, event: EventRow | null, stale: readonly StaleTopic[] = []): void {
  if (event !== null) hub.live.addEvent(event);
  hub.live.markStale(event === null ? stale : [...stale, "events"]);
}
