import { formatBytes as formatBytesIn, type SizeUnit } from "#protocol/base/units.ts";

/** Formats sizes in the unit chosen in this browser. Not reactive: render the page again after a change of the unit. */

let unit: SizeUnit = "binary";

export const sizeUnit = (): SizeUnit => unit;

export function setSizeUnit(next: SizeUnit): void {
  unit = next;
}

/** Returns a size such as `3.1 GiB`, or `3.3 GB` when the person chose decimal units. */
export const formatBytes = (bytes: number): string => formatBytesIn(bytes, unit);

/** Returns the base whose powers make round ticks on a size axis in the chosen unit. */
export const sizeBase = (): 10 | 1024 => (unit === "binary" ? 1024 : 10);
