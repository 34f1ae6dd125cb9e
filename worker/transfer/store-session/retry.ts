import { Fault, toFault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { createBreaker, jitter, type Breaker, type Ticket } from "#worker/base/breaker.ts";
import { throwIfAborted, type Clock } from "#worker/base/clock.ts";

/**
 * Time since a transfer last made progress. A part is retried until it succeeds, a fault says that retrying is useless, or
 * *nothing at all* of the transfer has moved for `patienceMs`. The number of tries is not limited: a link that was down for
 * ten minutes is no reason to lose an upload. A part's failure never affects its siblings.
 */
export interface Patience {
  /** Must be called whenever bytes of the transfer were acknowledged or received. */
  progressed(): void;
  /** Returns the milliseconds since the last progress. */
  idleMs(): number;
}

export interface Retrier {
  clock: Clock;
  breaker: Breaker;
  patienceMs: number;
  /** Last fault of the link, for calls that give up before their first try. */
  linkFault: Fault | null;
  /** Called with every fault that will be retried, of any transfer. */
  onTrouble: ((fault: Fault) => void) | null;
  /** Faults that retrying cannot cure on this machine, each with advice for a person. */
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

/** Faults of the path to the store, as opposed to answers of the store itself. */
const LINK_FAULTS: ReadonlySet<FaultCode> = new Set(["LINK_DOWN", "NAME_NOT_RESOLVED", "INTERCEPTED", "PROXY_FAILED"]);

/**
 * Tells the circuit breaker whether a failure means that the link is down. `ticket`: from the breaker; "free" where it was
 * not asked.
 */
export function tellLink(retrier: Retrier, fault: Fault, ticket: Ticket): void {
  const { breaker } = retrier;
  if (LINK_FAULTS.has(fault.code)) {
    retrier.linkFault = fault;
    breaker.down(ticket);
  } else breaker.up();
}

/** Longest wait after a failed try, whatever the store asks for. */
const MOST_WAIT_MS = 60_000;

/** Returns the milliseconds to wait after a fault. `atOnce`: none, unless the store asks for a wait. */
export const waitAfter = (clock: Clock, fault: Fault, { tries, atOnce }: { tries: number; atOnce: boolean }): number =>
  Math.min(MOST_WAIT_MS, Math.max(fault.context.retryAfterMs ?? 0, atOnce ? 0 : jitter(clock, tries)));

/** Wrong bytes are fetched or sent again twice; a third time means that they will stay wrong. */
const MOST_MISMATCHES = 2;
/** A fault that may be retried at once gets a wait after this many times in a row. */
const MOST_AT_ONCE = 3;

export interface Attempting {
  signal: AbortSignal;
  patience: Patience;
  /** Called with every fault that will be retried. */
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
    // A call that was never tried ends with the others: otherwise a thousand files would each wait for a probe of their own.
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
      // While the link is down, the circuit breaker decides which call waits how long.
      if (waitMs > 0 && !breaker.isDown) await clock.sleep(waitMs, context.signal);
    }
  }
}
