import type { FileInspection } from "#protocol/checkpoint/inspect.ts";
import type { Inspections } from "../api/ports/inspections.ts";

const MOST_BYTES = 48 * 1024 * 1024;
const MOST_AT_A_TIME = 3;

/** Returns the approximate memory of an inspection in bytes; rows are most of it. */
const weightOf = ({ tensors, metadata, curve, names }: FileInspection): number =>
  4_096 + 300 * tensors.length + 300 * metadata.length + 120 * (curve?.points.length ?? 0) + 100 * names.length;

export function createInspections(mostBytes = MOST_BYTES): Inspections {
  const known = new Map<string, FileInspection>();
  const waiting: (() => void)[] = [];
  let [bytes, running] = [0, 0];

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
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= MOST_AT_A_TIME) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      // Hands the slot to the next waiting call, or frees it.
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
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
