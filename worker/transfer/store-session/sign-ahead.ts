import type { Operation } from "#protocol/wire/operations.ts";
import type { Engine } from "../engine.ts";
import type { Piece } from "../download/piece.ts";
import { storedLength } from "../download/sealed-piece.ts";

export interface SignAhead {
  /**
   * Resolves when the batch of a piece is signed. Never rejects: a piece that cannot be signed now is signed, or fails, when
   * it is fetched.
   */
  of(piece: Piece): Promise<unknown>;
  done(piece: Piece): void;
}

/**
 * Signs the requests for pieces in batches of `atATime`, because each call may be a round trip to the hub. One signature
 * serves all ranges of a piece, because the Range header is not signed.
 */
export function signAhead(engine: Engine, pieces: readonly Piece[], atATime: number): SignAhead {
  const numbers = new Map(pieces.map((piece, index) => [piece, index]));
  const batches = new Map<number, Promise<unknown>>();
  return {
    of: (piece) => {
      const batch = Math.floor((numbers.get(piece) ?? 0) / atATime);
      const from = batch * atATime;
      const operations = () => pieces.slice(from, from + atATime).map((one) => operationOf(engine, one));
      const asked = batches.get(batch) ?? engine.signatures.prepare(operations()).catch(() => undefined);
      batches.set(batch, asked);
      return asked;
    },
    done: (piece) => engine.signatures.forget(operationOf(engine, piece)),
  };
}

/** Returns the operation to sign for a piece; any range of the piece may be requested under its signature. */
export const operationOf = (engine: Engine, piece: Piece): Extract<Operation, { op: "get" }> => ({
  op: "get",
  key: piece.key,
  offset: piece.objectOffset,
  length: storedLength(piece, piece.length),
  etag: engine.traits.trustEtag ? piece.etag : null,
});
