/** Upload rate of this node, as a basis for forecasts. */
export interface Uplink {
  /** Adds an ended upload: the bytes that it sent over the network, and the time that it took. */
  add(sentBytes: number, tookMs: number): void;
  /**
   * Returns the rate of ended uploads. Before one was large enough to count, returns the rate of the running one; before that,
   * the rate known when this worker started. 0 while nothing is known.
   */
  bytesPerSecond(): number;
}

export interface UplinkParts {
  /** The upload under way, so far; null while there is none. */
  running(): { sentBytes: number; tookMs: number } | null;
  /** Returns the measured or remembered rate of the link, bytes per second; null when there is none. */
  before(): number | null;
}

/** Shorter uploads show round trips rather than the link. */
const LEAST_MS = 1_000;
const LEAST_BYTES = 1024 * 1024;
/** A running upload is still ramping up before this. */
const LEAST_RUNNING_MS = 5_000;
/** Newer uploads count more: this much upload time halves the weight of what came before. */
const MEMORY_MS = 10 * 60_000;

export function createUplink(parts: UplinkParts): Uplink {
  let bytes = 0;
  let spanMs = 0;
  return {
    add: (sentBytes, tookMs) => {
      if (tookMs < LEAST_MS || sentBytes < LEAST_BYTES) return;
      const fade = 0.5 ** (tookMs / MEMORY_MS);
      bytes = bytes * fade + sentBytes;
      spanMs = spanMs * fade + tookMs;
    },
    bytesPerSecond: () => {
      if (spanMs > 0) return (bytes * 1000) / spanMs;
      const running = parts.running();
      const tells = running !== null && running.tookMs >= LEAST_RUNNING_MS && running.sentBytes >= LEAST_BYTES;
      return tells ? (running.sentBytes * 1000) / running.tookMs : (parts.before() ?? 0);
    },
  };
}
