import { createLane } from "#protocol/base/lane.ts";
import type { FileInspection } from "#protocol/checkpoint/inspect.ts";
import type { Inspections } from "../api/ports/inspections.ts";

const MOST_BYTES = 48 * 1024 * 1024;
const MOST_AT_A_TIME = 3;

/** Returns the approximate memory of an inspection in bytes; rows are most of it. */
const weightOf = ({ tensors, metadata, curve, names }: FileInspection): number =>
  4_096 + 300 * tensors.length + 300 * metadata.length + 120 * (curve?.points.length ?? 0) + 100 * names.length;

export function createInspections(mostBytes = MOST_BYTES): Inspections {
  const known = new Map<string, FileInspection>();
  let bytes = 0;

  const keep = (version: string, found: FileInspection) => {
    const weight = weightOf(found);
    if (weight > mostBytes / 2 || known.has(version)) return;
    known.set(version, found);
    bytes += weight;
    for (const [oldest, held] of known) {
      if (bytes <= mostBytes) return;
      known.delete(oldest);
      bytes -= weightOf(held);
    }
  };
  const inTurn = createLane(MOST_AT_A_TIME);
  return {
    of: async (version, look) => {
      const found = version === null ? undefined : known.get(version);
      if (found !== undefined && version !== null) {
        known.delete(version);
        known.set(version, found);
        return found;
      }
      const fresh = await inTurn(look);
      if (version !== null) keep(version, fresh);
      return fresh;
    },
  };
}
