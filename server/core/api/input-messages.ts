/** Messages between the hub and the thread that parses large inputs. */

export type ToInputThread =
  | { op: "read"; id: number; path: string; bytes: Uint8Array }
  /** Requests the next piece of the result. */
  | { op: "next"; id: number };

export type FromInputThread = { id: number } & (
  | { op: "bad"; issue: { path: string[]; message: string } | null }
  /** `stored` is the manifest as it is stored, and the SHA-256 of that text. */
  | { op: "rest"; rest: unknown; stored: { text: string; sha256: string } | null }
  | { op: "piece"; path: string[]; piece: unknown[] }
  | { op: "end" }
);
