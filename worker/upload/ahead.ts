import { toFault, type Fault } from "#protocol/faults/fault.ts";
import type { Clock } from "../base/clock.ts";
import type { Hub } from "../hub-link/hub.ts";
import { isFatal } from "../hub-link/stream.ts";
import type { Capture } from "../capture/capture.ts";
import { mayRequeue } from "./judge-failure.ts";
import { supersededAmong, type Ledger } from "../capture/ledger.ts";

/**
 * Prepares waiting captures while another one is sent, so that they can be sent on signatures in hand when the hub goes away.
 * Announces them, opens their multipart uploads, and signs their parts. Bounded, and only for the newest of each run, because
 * the policy passes over the others.
 */
export interface Ahead {
  /** Announces everything that waits. Returns the fault when the hub is away. Faults: those that end this node. */
  announceAll(): Promise<Fault | null>;
  /** Announces and signs in the background; returns at once. */
  prepare(): void;
  /** Returns whether its multipart uploads are open and its signatures are in hand. */
  isReady(id: string): boolean;
  /** Resolves when the preparation of this capture has ended. */
  settled(id: string): Promise<void>;
  /** Stops preparing a capture that will not be sent. */
  drop(id: string): Promise<void>;
}

export interface AheadParts {
  ledger: Ledger;
  hub: Hub;
  clock: Clock;
  signal: AbortSignal;
  /** Claims the epoch and tells the hub of the capture. */
  introduce(item: Capture): Promise<unknown>;
  /** Opens uploads and signs parts. */
  sign(item: Capture, signal: AbortSignal): Promise<void>;
  /** Called when the hub has refused the capture for good. */
  onRefused(item: Capture, fault: Fault): Promise<void>;
  /** Returns whether something is being sent; only then is there time to prepare. */
  isBusy(): boolean;
}

const MOST_AHEAD = 4;
const TRY_AGAIN_MS = 5_000;

export function createAhead(parts: AheadParts): Ahead {
  const { ledger, clock, signal } = parts;
  const ready = new Set<string>();
  let preparing: { id: string; stop: AbortController; over: Promise<void> } | null = null;
  let announcing: Promise<Fault | null> = Promise.resolve(null);
  let isPreparing = false;
  let isDueAgain = false;

  const announceEach = async (): Promise<Fault | null> => {
    for (;;) {
      const item = ledger.all().find(({ announced, state }) => !announced && state === "waiting");
      if (item === undefined) return null;
      try {
        await parts.introduce(item);
      } catch (error) {
        const fault = toFault(error, { op: "announce", subject: item.run });
        if (isFatal(fault)) throw fault;
        if (mayRequeue(fault) || signal.aborted) return fault;
        await parts.onRefused(item, fault);
      }
    }
  };
  const announceAll = (): Promise<Fault | null> => {
    announcing = announcing.catch(() => null).then(announceEach);
    return announcing;
  };

  const nextToSign = (): Capture | undefined => {
    const waiting = ledger.all().filter(({ announced, state }) => announced && state === "waiting");
    const passedOver = new Set(supersededAmong(waiting));
    const wanted = waiting.filter((item) => !passedOver.has(item)).sort((a, b) => b.capturedAt - a.capturedAt);
    return wanted.slice(0, MOST_AHEAD).find(({ id }) => !ready.has(id));
  };
  const signEach = async () => {
    while (parts.isBusy() && !signal.aborted) {
      const item = nextToSign();
      if (item === undefined) return;
      const stop = new AbortController();
      const work = parts.sign(item, AbortSignal.any([stop.signal, signal]));
      preparing = { id: item.id, stop, over: work.catch(() => undefined) };
      try {
        await work;
        ready.add(item.id);
      } finally {
        preparing = null;
      }
    }
  };
  const prepare = async () => {
    if (isPreparing) {
      isDueAgain = true;
      return;
    }
    isPreparing = true;
    try {
      do {
        isDueAgain = false;
        if (!parts.isBusy()) break;
        const fault = await announceAll();
        await signEach();
        if (fault !== null) throw fault;
      } while (isDueAgain);
    } catch {
      // The fault is reported when it is the capture's turn. Until then only the preparation is missing.
      void clock.sleep(TRY_AGAIN_MS, signal).then(prepare, () => undefined);
    } finally {
      isPreparing = false;
    }
  };

  return {
    announceAll,
    prepare: () => void prepare(),
    isReady: (id) => ready.has(id),
    settled: async (id) => {
      if (preparing?.id === id) await preparing.over;
    },
    drop: async (id) => {
      ready.delete(id);
      if (preparing?.id !== id) return;
      preparing.stop.abort();
      await preparing.over;
    },
  };
}
