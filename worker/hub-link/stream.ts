import { Fault, isFault } from "#protocol/faults/fault.ts";
import { nodeMessage, type NodeMessage } from "#protocol/wire/commands.ts";
import { returnWaitMs } from "#protocol/base/return-wait.ts";
import type { Clock } from "../base/clock.ts";
import { hubFault, type Hub } from "./hub.ts";

/**
 * Live stream from the hub to this node. It is reopened endlessly, after a wait with full jitter that grows with the
 * fleet, so that the fleet does not reconnect to a restarted hub all at once. Ends only with the signal, or with a Fault
 * by which the hub rejects this node.
 */
export interface Listening {
  hub: Hub;
  base: string;
  bootId: string;
  clock: Clock;
  signal: AbortSignal;
  /** Returns the time (ms) over which the fleet should spread its reconnections, as last told by the hub. */
  withinMs(): number | undefined;
  /** Called before each opening, to send a hello. Throws when the hub is not reachable. */
  beforeOpen(): Promise<void>;
  onMessage(message: NodeMessage): void;
  /** Called with the error when `beforeOpen` fails, unless the error is fatal. */
  onLost(error: unknown): void;
  /**
   * Called when the stream fails again before it opened, although `beforeOpen` reached the hub: commands do not arrive then. An
   * open stream that breaks is not reported here, because the next `beforeOpen` finds out whether the hub is lost.
   */
  onRefused(fault: Fault): void;
}

/** A stream that stayed open this long resets the backoff. */
const GOOD_MS = 15_000;
/** A single refusal is no trouble yet: the hub may have stopped just after it answered `beforeOpen`. */
const TELLING_REFUSALS = 2;
const FATAL: ReadonlySet<string> = new Set(["NODE_UNKNOWN", "NODE_REVOKED", "PROTOCOL_MISMATCH"]);

/** Tells whether the hub rejects this node altogether, so that the worker cannot continue. */
export const isFatal = (error: unknown): boolean => isFault(error) && FATAL.has(error.code);

/** Keeps the stream open until the signal fires. @throws Fault NODE_UNKNOWN, NODE_REVOKED, PROTOCOL_MISMATCH */
export async function listen(listening: Listening): Promise<void> {
  const { clock, signal } = listening;
  let tries = 0;
  let refusals = 0;
  while (!signal.aborted) {
    try {
      await listening.beforeOpen();
      // If the signal fired meanwhile, the stream's abort listener would never be called.
      if (signal.aborted) return;
      const openedAt = clock.now();
      const refusal = await openOnce(listening);
      refusals = refusal === null ? 0 : refusals + 1;
      if (refusal !== null && refusals >= TELLING_REFUSALS) listening.onRefused(refusal);
      if (clock.now() - openedAt > GOOD_MS) tries = 0;
    } catch (error) {
      if (isFatal(error)) throw error;
      if (!signal.aborted) listening.onLost(error);
    }
    if (signal.aborted) return;
    const waitMs = returnWaitMs(tries++, { withinMs: listening.withinMs(), random: () => clock.random() });
    await clock.sleep(waitMs, signal).catch(() => undefined);
  }
}

/**
 * Opens the stream once and resolves when it ends for a temporary reason: with a Fault if it never opened, else with null.
 * @throws Fault that is fatal
 */
function openOnce({ hub, base, bootId, signal, onMessage }: Listening): Promise<Fault | null> {
  return new Promise((resolve, reject) => {
    let wasOpen = false;
    const close = () => {
      signal.removeEventListener("abort", stop);
      leave();
    };
    const end = (error: unknown) => {
      const fault = hubFault(error, { op: "stream", base });
      // Comes before `close`, which may call `onComplete`.
      if (isFatal(fault)) reject(fault);
      else resolve(wasOpen ? null : neverOpened(fault));
      close();
    };
    const stop = () => {
      resolve(null);
      close();
    };
    const leave = hub.openStream(
      { bootId },
      {
        onData: (data) => {
          const message = nodeMessage.safeParse(data);
          // A newer hub may send messages that this worker does not know.
          if (message.success) onMessage(message.data);
        },
        onError: end,
        onComplete: () => end(null),
        onConnectionStateChange: ({ state, error }) => {
          // The client would reconnect by itself, but without the jitter that spreads the fleet.
          if (state === "connecting" && (wasOpen || error !== null)) end(error);
          if (state === "pending") wasOpen = true;
        },
      },
    );
    signal.addEventListener("abort", stop, { once: true });
  });
}

function neverOpened({ code, context }: Fault): Fault {
  const why = context.detail === undefined ? "" : `: ${context.detail}`;
  const detail = `the live stream does not open, although other calls are answered${why}`;
  return new Fault(code, { ...context, detail });
}
