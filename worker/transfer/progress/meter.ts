/** Rate of bytes over the last few seconds, acknowledged or in flight. */
export interface Meter {
  add(bytes: number): void;
  /** Returns bytes per second over the last five seconds, or since the first byte when that is less. */
  bytesPerSecond(): number;
  readonly totalBytes: number;
}

const SLOT_MS = 250;
const SLOTS = 20;

/** Creates a meter. `now`: milliseconds, monotonic. */
export function createMeter(now: () => number): Meter {
  const slots: number[] = Array.from({ length: SLOTS }, () => 0);
  let newest = Math.floor(now() / SLOT_MS);
  let firstAt: number | null = null;
  let totalBytes = 0;

  const turn = () => {
    const slot = Math.floor(now() / SLOT_MS);
    for (let step = 0; newest < slot && step < SLOTS; step++) slots[++newest % SLOTS] = 0;
    newest = Math.max(newest, slot);
    return slot;
  };
  return {
    get totalBytes() {
      return totalBytes;
    },
    add: (bytes) => {
      const slot = turn();
      firstAt ??= now();
      slots[slot % SLOTS] = (slots[slot % SLOTS] ?? 0) + bytes;
      totalBytes += bytes;
    },
    bytesPerSecond: () => {
      turn();
      if (firstAt === null) return 0;
      const moved = slots.reduce((sum, bytes) => sum + bytes, 0);
      if (moved === 0) return 0;
      const spanMs = Math.min(Math.max(now() - firstAt, SLOT_MS), SLOTS * SLOT_MS);
      return (moved * 1000) / spanMs;
    },
  };
}
