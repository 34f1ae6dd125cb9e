import { Fault } from "../faults/fault.ts";

/** Parses sizes, rates and durations as people write them, in commands and in forms; `units.ts` formats them. */

const SIZE = /^(\d+(?:\.\d+)?)\s*(?:(B)|([KMGTP])(iB|i|B)?)?$/i;

/**
 * Reads `64MiB`, `100M`, `1.5G`, `300MB`, `4096`. `MiB`, `Mi` are binary; `M`, `MB` are decimal. Returns whole bytes.
 * @throws Fault BAD_INPUT
 */
export function parseSize(text: string): number {
  const match = SIZE.exec(text.trim());
  if (match === null) {
    throw new Fault("BAD_INPUT", { subject: text, detail: "a size looks like 64MiB, 100M or 1.5G" });
  }
  const letter = match[3]?.toUpperCase();
  const power = letter === undefined ? 0 : "KMGTP".indexOf(letter) + 1;
  const base = match[4]?.toLowerCase().startsWith("i") ? 1024 : 1000;
  const bytes = Math.round(Number(match[1]) * base ** power);
  if (!Number.isSafeInteger(bytes)) {
    throw new Fault("BAD_INPUT", { subject: text, detail: "the size is larger than can be counted" });
  }
  return bytes;
}

const BITS = /^(\d+(?:\.\d+)?)\s*([kKmMgGtT])?(?:[bB]it(?:\/s)?|bps)$/;
const BYTES = /^(\d+(?:\.\d+)?\s*[kKMGT]?i?B)(?:\/s|ps)?$/;

/**
 * Parses a rate as links are sold (`20Mbit`, `50 Mbps`, `1Gbit/s`) or as disks are (`2.5MB/s`, `2MiB`). Refuses a number
 * without a unit, because people mean bits or bytes. Returns bytes per second.
 * @throws Fault BAD_INPUT
 */
export function parseRate(text: string): number {
  const trimmed = text.trim();
  const bits = BITS.exec(trimmed);
  if (bits !== null) {
    const power = bits[2] === undefined ? 0 : "kmgt".indexOf(bits[2].toLowerCase()) + 1;
    return (Number(bits[1]) * 1000 ** power) / 8;
  }
  const bytes = BYTES.exec(trimmed)?.[1];
  if (bytes !== undefined) return parseSize(bytes);
  throw new Fault("BAD_INPUT", { subject: text, detail: "a rate looks like 20Mbit, or 2.5MB/s" });
}

const DURATION_UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Reads `1h30m`, `90s`, `500ms`, `2d`. A bare number is seconds. Returns milliseconds.
 * @throws Fault BAD_INPUT
 */
export function parseDuration(text: string): number {
  const trimmed = text.trim().toLowerCase();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Math.round(Number(trimmed) * 1000);
  if (!/^(\d+(\.\d+)?(ms|s|min|m|h|d)\s*)+$/.test(trimmed)) {
    throw new Fault("BAD_INPUT", { subject: text, detail: "a duration looks like 90s, 15m or 1h30m" });
  }
  let total = 0;
  for (const [, amount, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|s|min|m|h|d)/g)) {
    total += Number(amount) * (DURATION_UNITS[unit ?? "s"] ?? 0);
  }
  return Math.round(total);
}
