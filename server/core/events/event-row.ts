import { faultData } from "#protocol/faults/fault-data.ts";
import type { FaultData } from "#protocol/faults/fault.ts";
import type { WorkState } from "#protocol/wire/risk.ts";
import type { EventKind } from "#protocol/base/event-kinds.ts";
import type { EventRow } from "#protocol/wire/views.ts";
import type { Event } from "#prisma/client/client.ts";
import { readStored } from "#server/platform/stored-json.ts";

/** Returns a stored Fault. Invalid text, or a code that no longer exists, becomes INTERNAL. */
export function storedFault(text: string | null): FaultData | null {
  if (text === null) return null;
  return readStored(text, faultData) ?? { code: "INTERNAL" };
}

export const eventRowOf = (row: Event): EventRow => ({
  id: row.id,
  at: row.at.getTime(),
  kind: row.kind as EventKind,
  work: row.work as WorkState,
  nodeId: row.nodeId,
  nodeName: row.nodeName,
  run: row.run,
  step: row.step === null ? null : Number(row.step),
  text: row.text,
  detail: row.detail,
  fault: storedFault(row.fault),
});
