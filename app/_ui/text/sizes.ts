import { formatBytes as formatBytesIn, type SizeUnit } from "#protocol/base/units.ts";

/** Sizes in the unit this browser chose. Whoever changes it draws the page anew: these words are read, not watched. */

let unit: SizeUnit = "binary";

export const sizeUnit = (): SizeUnit => unit;

export function setSizeUnit(next: SizeUnit): void {
  unit = next;
}

/** `3.1 GiB`, or `3.3 GB` where that was chosen. */
export const formatBytes = (bytes: number): string => formatBytesIn(bytes, unit);

/** What ticks of a size axis are powers of, so that they are round in the chosen unit. */
export const sizeBase = (): 10 | 1024 => (unit === "binary" ? 1024 : 10);
