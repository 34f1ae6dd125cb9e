import { NO_RISK } from "#protocol/wire/risk.ts";
import type { FleetView } from "#protocol/wire/views.ts";

/** Makes a small healthy fleet that has not saved anything yet. For tests. */
export const fleetView = (over: Partial<FleetView> = {}): FleetView => ({
  at: 0,
  nodes: 3,
  online: 3,
  unconfirmed: 0,
  silent: 0,
  byWork: { safe: 3, moving: 0, risk: 0, lost: 0 },
  risk: NO_RISK,
  worstNode: null,
  upBytesPerSecond: 0,
  downBytesPerSecond: 0,
  activeTransfers: 0,
  doneLastDay: 0,
  failedLastDay: 0,
  checkpointsComplete: 0,
  ...over,
});
