import { Fault, toFault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { createBreaker, jitter, type Breaker, type Ticket } from "#worker/base/breaker.ts";
import { throwIfAborted, type Clock } from "#worker/base/clock.ts";

/**
 * A part is tried again until it succeeds, until a fault says that trying is useless, or until *nothing at all* of the
 * whole transfer has moved for `patienceMs`. There is no budget of tries: a link that was down for ten minutes is not a
 * reason to lose an upload. A part's failure never touches its siblings.
 */
export interface Patience {
  /** Called whenever bytes of the transfer were acknowledged. */
  progressed(): void;
  /** Milliseconds since then. */
  idleMs(): number;
}

export interface Retrier {
  clock: Clock;
  breaker: Breaker;
  patienceMs: number;
  /** How the link failed last, for those that did not come to try. */
  linkFault: Fault | null;
  /** Told of every fault that will be retried, whatever the transfer. */
  onTrouble: ((fault: Fault) => void) | null;
  /** What trying again cannot overcome here although it could elsewhere, each with what a person can do. */
  hopeless: ReadonlyMap<FaultCode, string>;
}

const DEFAULT_PATIENCE_MS = 15 * 60_000;

export const createRetrier = (clock: Clock, patienceMs = DEFAULT_PATIENCE_MS): Retrier => ({
  clock,
  breaker: createBreaker(clock),
  patienceMs,
  linkFault: null,
  onTrouble: null,
  hopeless: new Map(),
});

export function createPatience(clock: Clock): Patience {
  let last = clock.now();
  return {
    progressed: () => {
      last = clock.now();
    },
    idleMs: () => clock.now() - last,
  };
}

/** Faults that say the way to the store is broken, as opposed to the store having an opinion. */
const LINK_FAULTS: ReadonlySet<FaultCode> = new Set(["LINK_DOWN", "NAME_NOT_RESOLVED", "INTERCEPTED", "PROXY_FAILED"]);

/** What a failure says of the way to the store. `ticket`: what the breaker gave; "free" where it was not asked. */
export function tellLink(retrier: Retrier, fault: Fault, ticket: Ticket): void {
  const { breaker } = retrier;
  if (LINK_FAULTS.has(fault.code)) {
    retrier.linkFault = fault;
    breaker.down(ticket);
  } else breaker.up();
}

/** Longest a failed try waits, whatever the store asks for. */
const MOST_WAIT_MS = 60_000;

/** Milliseconds to wait after a fault. `atOnce`: not at all, unless the store asks for it. */
export const waitAfter = (clock: Clock, fault: Fault, { tries, atOnce }: { tries: number; atOnce: boolean }): number =>
  Math.min(MOST_WAIT_MS, Math.max(fault.context.retryAfterMs ?? 0, atOnce ? 0 : jitter(clock, tries)));

/** Wrong bytes are fetched or sent again twice; a third time means that they will stay wrong. */
const MOST_MISMATCHES = 2;
/** A fault that may be retried at once gets a wait after this many times in a row. */
const MOST_AT_ONCE = 3;

export interface Attempting {
  signal: AbortSignal;
  patience: Patience;
  /** Told of every fault that will be retried. */
  onRetry?: (fault: Fault) => void;
}

/**
 * Runs `work` until it succeeds. Faults: the last one of `work`, or CANCELLED.
 */
export async function withRetry<T>(retrier: Retrier, context: Attempting, work: () => Promise<T>): Promise<T> {
  const { clock, breaker } = retrier;
  let tries = 0;
  let mismatches = 0;
  const last: { fault: Fault | null } = { fault: null };
  const isOverdue = () => context.patience.idleMs() > retrier.patienceMs;
  for (;;) {
    // What never had its turn ends with the others: a thousand files would otherwise each wait for a probe of their own.
    const isTooLate = () => isOverdue() && (last.fault !== null || breaker.downMs() > retrier.patienceMs);
    const ticket = await breaker.pass(context.signal, isTooLate);
    if (ticket === "late") throw last.fault ?? retrier.linkFault ?? new Fault("LINK_DOWN");
    try {
      const result = await work();
      breaker.up();
      return result;
    } catch (error) {
      if (context.signal.aborted) {
        breaker.release(ticket);
        throwIfAborted(context.signal);
      }
      const fault = toFault(error);
      tellLink(retrier, fault, ticket);
      if (fault.retry === "never") throw fault;
      const advice = retrier.hopeless.get(fault.code);
      if (advice !== undefined) throw new Fault(fault.code, { ...fault.context, detail: advice, cause: fault });
      if (fault.code === "CHECKSUM_MISMATCH" && ++mismatches > MOST_MISMATCHES) throw fault;
      if (isOverdue()) throw fault;
      last.fault = fault;
      context.onRetry?.(fault);
      retrier.onTrouble?.(fault);
      tries++;
      const atOnce = fault.retry === "now" && tries <= MOST_AT_ONCE;
      const waitMs = waitAfter(clock, fault, { tries, atOnce });
      // While the link is down the breaker decides who waits how long.
      if (waitMs > 0 && !breaker.isDown) await clock.sleep(waitMs, context.signal);
    }
  }
}
