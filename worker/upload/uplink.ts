/** The rate at which uploads of this node really go, from those that ended: what a forecast may rest on. */
export interface Uplink {
  /** One upload moved so many bytes over the network in this time. */
  add(sentBytes: number, tookMs: number): void;
  /** 0 until one was large enough to tell. */
  bytesPerSecond(): number;
}

/** Shorter ones tell more of round trips than of the link. */
const LEAST_MS = 1_000;
const LEAST_BYTES = 1024 * 1024;
/** Newer uploads count more: the weight of what came before is halved for as much again. */
const MEMORY_MS = 10 * 60_000;

export function createUplink(): Uplink {
  let bytes = 0;
  let spanMs = 0;
  return {
    add: (sentBytes, tookMs) => {
      if (tookMs < LEAST_MS || sentBytes < LEAST_BYTES) return;
      const fade = 0.5 ** (tookMs / MEMORY_MS);
      bytes = bytes * fade + sentBytes;
      spanMs = spanMs * fade + tookMs;
    },
    bytesPerSecond: () => (spanMs === 0 ? 0 : (bytes * 1000) / spanMs),
  };
}
