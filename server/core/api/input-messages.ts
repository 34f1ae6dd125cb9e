/** What the hub and the thread that reads large inputs say to each other. */

export type ToInputThread =
  | { op: "read"; id: number; path: string; bytes: Uint8Array }
  /** Send the next piece. */
  | { op: "next"; id: number };

export type FromInputThread = { id: number } & (
  | { op: "bad"; issue: { path: string[]; message: string } | null }
  /** `text` and `sha256`: of a manifest, as it is stored. */
  | { op: "rest"; rest: unknown; stored: { text: string; sha256: string } | null }
  | { op: "piece"; path: string[]; piece: unknown[] }
  | { op: "end" }
);
