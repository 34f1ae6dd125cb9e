/** The rate at which uploads of this node go: what a forecast may rest on. */
export interface Uplink {
  /** One upload moved so many bytes over the network in this time. */
  add(sentBytes: number, tookMs: number): void;
  /**
   * That of uploads that ended; before one was large enough to tell, of the one that runs; before that, what was known when
   * this worker started. 0 while nothing is known.
   */
  bytesPerSecond(): number;
}

export interface UplinkParts {
  /** The upload under way, so far; null while there is none. */
  running(): { sentBytes: number; tookMs: number } | null;
  /** Bytes per second, as the link was measured or is remembered; null when neither. */
  before(): number | null;
}

/** Shorter ones tell more of round trips than of the link. */
const LEAST_MS = 1_000;
const LEAST_BYTES = 1024 * 1024;
/** One that runs is just gaining speed before. */
const LEAST_RUNNING_MS = 5_000;
/** Newer uploads count more: the weight of what came before is halved for as much again. */
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
