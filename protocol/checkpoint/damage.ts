import * as z from "zod";
import { byteCount } from "../base/bounded.ts";
import { faultData } from "../faults/fault-data.ts";
import type { FaultCode } from "../faults/fault-table.ts";
import { filePath } from "../base/names.ts";
import { formatCount } from "../base/units.ts";

/**
 * Damage that reading a checkpoint back can find: bytes of a file that differ from the manifest. Only the store's answer
 * counts as damage: a broken link proves nothing about a checkpoint.
 */

/** Faults that prove that the bytes in the store are not those that were committed. */
const DAMAGE_CODES: ReadonlySet<FaultCode> = new Set([
  "CHECKSUM_MISMATCH",
  "OBJECT_CHANGED",
  "NO_SUCH_KEY",
  "SIZE_MISMATCH",
  "SEAL_BROKEN",
]);

export const isDamage = (code: FaultCode): boolean => DAMAGE_CODES.has(code);

/** Bytes `from` to `to` of a file, both included. */
export const damagedRange = z.object({ path: filePath, from: byteCount, to: byteCount, fault: faultData });
export type DamagedRange = z.infer<typeof damagedRange>;

/** Largest number of ranges in a report; `more` counts the further ones. */
export const MOST_RANGES = 16;
export const damageReport = z.object({ ranges: z.array(damagedRange).min(1).max(MOST_RANGES), more: byteCount });
export type DamageReport = z.infer<typeof damageReport>;

const UNNAMED = filePath.parse("a file of an encrypted checkpoint");

/** Returns a report without names of files, for the bucket of an encrypted checkpoint: its names may be hidden there. */
export const withoutNames = ({ ranges, more }: DamageReport): DamageReport => ({
  ranges: ranges.map(({ from, to, fault: { code } }) => ({ path: UNNAMED, from, to, fault: { code } })),
  more,
});

/** Describes a report: `model.safetensors, bytes 0 to 8,388,607 (and 2 more)`. */
export function damageWords({ ranges, more }: DamageReport): string {
  const [first] = ranges;
  if (first === undefined) return "damaged";
  const others = ranges.length - 1 + more;
  const rest = others === 0 ? "" : ` (and ${formatCount(others)} more)`;
  return `${first.path}, bytes ${formatCount(first.from)} to ${formatCount(first.to)}${rest}`;
}
