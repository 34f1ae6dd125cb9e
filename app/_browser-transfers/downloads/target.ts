/** Takes the bytes of a download; nothing is seen under its name before `close`. */
export interface Target {
  mode: "disk" | "stream" | "memory";
  /** Null where only the next bytes can be written. */
  writeAt: ((at: number, bytes: Uint8Array<ArrayBuffer>) => Promise<void>) | null;
  write: (bytes: Uint8Array<ArrayBuffer>) => Promise<void>;
  /** Back to the beginning, with nothing in it. */
  restart: () => Promise<void>;
  /** Under its name only now. */
  close: () => Promise<void>;
  /** Leaves nothing behind. */
  abort: () => Promise<void>;
}
