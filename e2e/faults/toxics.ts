/** `up` is what the client sends, `down` what the store sends. */
export type Direction = "up" | "down";

/**
 * What a link can do to the bytes of one connection, in the words of Toxiproxy. `afterBytes` counts the bytes of that
 * direction on that connection; what came before passes unchanged.
 */
export type Toxic =
  /** Every byte arrives this much later. */
  | { readonly kind: "latency"; readonly ms: number; readonly jitterMs?: number }
  /** Most bytes per second of one connection. */
  | { readonly kind: "bandwidth"; readonly bytesPerSecond: number }
  /** The end of the connection is told this much later. */
  | { readonly kind: "slow-close"; readonly ms: number }
  /** Nothing passes any more and nobody is told, until the toxic is taken away. */
  | { readonly kind: "blackhole"; readonly afterBytes: number }
  /** The connection is reset. */
  | { readonly kind: "reset-peer"; readonly afterBytes: number }
  /** The connection is closed in an orderly way, too early. */
  | { readonly kind: "limit-data"; readonly afterBytes: number }
  /** Bytes arrive in small pieces. */
  | { readonly kind: "slicer"; readonly pieceBytes: number; readonly delayMs: number }
  /** One byte arrives inverted. */
  | { readonly kind: "flip"; readonly afterBytes: number };

export interface ToxicRule {
  readonly toxic: Toxic;
  readonly direction: Direction;
  /** Share of the connections it is for, 0 to 1; drawn from the proxy's seed. Default 1. */
  readonly share?: number;
  /** At most this many connections. */
  readonly times?: number;
}
