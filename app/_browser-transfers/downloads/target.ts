/** Receives the bytes of a download. The file appears under its name only after `close`. */
export interface Target {
  mode: "disk" | "stream" | "memory";
  /** Null when bytes can only be written in order. */
  writeAt: ((at: number, bytes: Uint8Array<ArrayBuffer>) => Promise<void>) | null;
  write: (bytes: Uint8Array<ArrayBuffer>) => Promise<void>;
  /** Discards everything written and starts at position 0. */
  restart: () => Promise<void>;
  /** Completes the file under its name. */
  close: () => Promise<void>;
  /** Discards the file. */
  abort: () => Promise<void>;
}
