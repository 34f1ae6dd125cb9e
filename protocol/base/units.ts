/** Formats sizes, rates and durations for people, in one place so that the CLI and the pages agree. */

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

const DECIMAL = ["B", "kB", "MB", "GB", "TB", "PB"] as const;

/** `binary`: as memory is counted (`MiB`, 1024). `decimal`: as disks and stores are sold (`MB`, 1000). */
export type SizeUnit = "binary" | "decimal";

/** Formats a size: `3.1 GiB`, `640 MiB`, `0 B`. Three digits at most, so that a column of sizes keeps its width. */
export function formatBytes(bytes: number, sizeUnit: SizeUnit = "binary"): string {
  const names = sizeUnit === "binary" ? BINARY : DECIMAL;
  let value = Math.max(0, bytes);
  let unit = 0;
  while (value >= 999.5 && unit < names.length - 1) {
    value /= sizeUnit === "binary" ? 1024 : 1000;
    unit++;
  }
  const text = unit === 0 ? String(Math.round(value)) : value >= 99.95 ? value.toFixed(0) : value.toFixed(1);
  return `${text} ${names[unit]}`;
}

export type RateUnit = "bits" | "bytes";

/** Formats bytes per second as networks are sold (`38.2 Mbps`, decimal) or as disks are (`4.6 MB/s`, decimal). */
export function formatRate(bytesPerSecond: number, unit: RateUnit = "bits"): string {
  const scale = unit === "bits" ? 8 : 1;
  const names = unit === "bits" ? ["bps", "kbps", "Mbps", "Gbps"] : ["B/s", "kB/s", "MB/s", "GB/s"];
  let value = Math.max(0, bytesPerSecond) * scale;
  let index = 0;
  while (value >= 999.5 && index < names.length - 1) {
    value /= 1000;
    index++;
  }
  const text = index === 0 || value >= 99.95 ? value.toFixed(0) : value.toFixed(1);
  return `${text} ${names[index]}`;
}

/** Formats a duration in its two largest units at most: `48 s`, `6 min`, `1 h 20 min`, `3 d 4 h`. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  const days = Math.floor(hours / 24);
  return hours % 24 === 0 ? `${days} d` : `${days} d ${hours % 24} h`;
}

/** Formats the time left: `about 6 min left`; null when it is unknown. */
export function formatEta(milliseconds: number | null): string | null {
  if (milliseconds === null || !Number.isFinite(milliseconds)) return null;
  return milliseconds < 1000 ? "1 s left" : `about ${formatDuration(milliseconds)} left`;
}

/** Formats a count: `4,500`. Does not use `Intl`, whose first use would add ten milliseconds to the start of every command. */
export function formatCount(count: number): string {
  const [whole = "", fraction] = String(Math.round(count * 1000) / 1000).split(".");
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
