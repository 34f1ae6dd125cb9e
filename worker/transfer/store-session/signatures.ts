import { Fault, toFault } from "#protocol/faults/fault.ts";
import { SIGN_BATCH, type Operation, type SignedRequest } from "#protocol/wire/operations.ts";
import type { RequestSource } from "#storage/signing/signing.ts";

/**
 * Cache of signed requests. Operations requested in the same turn of the event loop are signed in one call. `prepare` signs
 * in advance, so that an upload goes on while the signer is unreachable. A signature close to its end is dropped.
 */
export interface Signatures {
  /** Resolves with a cached or a new signed request. Faults: those of the source. */
  request(operation: Operation): Promise<SignedRequest>;
  /**
   * Returns a request that is cached or can be signed here; null when a remote signer must be asked. Faults: those of the
   * source.
   */
  now(operation: Operation): SignedRequest | null;
  /** Signs operations in advance. Returns how many of them are cached. Rejects when the source cannot sign. */
  prepare(operations: readonly Operation[]): Promise<number>;
  /** Drops a request that the store refused, or that is no longer needed. */
  forget(operation: Operation): void;
  /** Drops all requests, including those that `prepare` is just having signed. */
  forgetAll(): void;
  /** Number of cached requests. */
  readonly kept: number;
  /** Returns whether a signature has ended; asked after the store refused its request. */
  isOver(request: SignedRequest): boolean;
}

/**
 * Signatures that end sooner are not used. A part may take longer, but the store checks the date when the request arrives.
 */
const MARGIN_MS = 20_000;

function nameOf(operation: Operation): string {
  if (operation.op !== "part") return JSON.stringify(operation);
  const { partNumber, uploadId, sizeBytes, crc32, checksum = "", md5 = "" } = operation;
  return `part ${partNumber} ${uploadId} ${sizeBytes} ${crc32} ${checksum} ${md5}`;
}

/** Creates an empty cache. `signerNow`: epoch ms by the signer's clock. */
export function createSignatures(source: RequestSource, signerNow: () => number): Signatures {
  const kept = new Map<string, SignedRequest>();
  /** Incremented by `forgetAll`: signatures requested before are not cached when they come. */
  let round = 0;
  let asked: { operation: Operation; settle: (answer: SignedRequest | Fault) => void }[] = [];

  const isFresh = (request: SignedRequest) => request.expiresAt - signerNow() > MARGIN_MS;

  const keptOf = (operation: Operation): SignedRequest | null => {
    if (kept.size === 0) return null;
    const name = nameOf(operation);
    const ready = kept.get(name);
    if (ready === undefined) return null;
    if (isFresh(ready)) return ready;
    kept.delete(name);
    return null;
  };
  const now = (operation: Operation): SignedRequest | null => {
    const ready = keptOf(operation);
    if (ready !== null || source.signNow === undefined) return ready;
    try {
      return source.signNow(operation);
    } catch (error) {
      throw toFault(error, { op: "sign" });
    }
  };
  const sign = async (operations: readonly Operation[]) => {
    const requests = await source.sign(operations);
    if (requests.length !== operations.length) {
      throw new Fault("UNEXPECTED_ANSWER", { op: "sign", detail: "not one signature per operation" });
    }
    return requests;
  };
  const flush = async () => {
    const batch = asked.slice(0, SIGN_BATCH);
    asked = asked.slice(SIGN_BATCH);
    if (asked.length > 0) setImmediate(() => void flush());
    try {
      const requests = await sign(batch.map((entry) => entry.operation));
      for (const [index, entry] of batch.entries()) {
        const request = requests[index];
        entry.settle(request ?? new Fault("INTERNAL", { op: "sign" }));
      }
    } catch (error) {
      const fault = toFault(error, { op: "sign" });
      for (const entry of batch) entry.settle(fault);
    }
  };
  return {
    get kept() {
      return kept.size;
    },
    now,
    request: async (operation) => {
      const ready = now(operation);
      if (ready !== null) return ready;
      return new Promise((resolve, reject) => {
        const settle = (answer: SignedRequest | Fault) => (answer instanceof Fault ? reject(answer) : resolve(answer));
        asked.push({ operation, settle });
        if (asked.length === 1) setImmediate(() => void flush());
      });
    },
    prepare: async (operations) => {
      const wanted = operations.filter((operation) => {
        const ready = kept.get(nameOf(operation));
        return ready === undefined || !isFresh(ready);
      });
      // Removes the signatures of abandoned uploads, which would otherwise stay forever.
      for (const [name, request] of kept) if (!isFresh(request)) kept.delete(name);
      for (let at = 0; at < wanted.length; at += SIGN_BATCH) {
        const batch = wanted.slice(at, at + SIGN_BATCH);
        const before = round;
        const requests = await sign(batch);
        if (before !== round) continue;
        for (const [index, operation] of batch.entries()) {
          const request = requests[index];
          if (request !== undefined) kept.set(nameOf(operation), request);
        }
      }
      return operations.filter((operation) => kept.has(nameOf(operation))).length;
    },
    forget: (operation) => void (kept.size > 0 && kept.delete(nameOf(operation))),
    forgetAll: () => {
      round++;
      kept.clear();
    },
    isOver: (request) => request.expiresAt - signerNow() <= 0,
  };
}
