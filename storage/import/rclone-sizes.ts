/** Parses sizes as rclone does: K, M and G are powers of 1024, a bare number is KiB. https://rclone.org/docs/#size-options */

const POWERS: Readonly<Record<string, number>> = { b: 0, k: 1, m: 2, g: 3, t: 4, p: 5 };

/** Returns the bytes; null for text that is no size. */
export function readSize(text: string): number | null {
  const [, number, unit = "k"] = /^(\d{1,15}(?:\.\d{1,6})?)\s?([bkmgtp])?(?:i?b?)$/i.exec(text.trim()) ?? [];
  if (number === undefined) return null;
  const power = POWERS[unit.toLowerCase()];
  const bytes = Math.round(Number(number) * 1024 ** (power ?? 1));
  return Number.isSafeInteger(bytes) ? bytes : null;
}

/** Returns a whole number; null for any other text. */
export const readCount = (text: string): number | null => (/^\d{1,9}$/.test(text.trim()) ? Number(text) : null);
