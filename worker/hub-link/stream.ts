import { isFault, type Fault } from "#protocol/faults/fault.ts";
import { nodeMessage, type NodeMessage } from "#protocol/wire/commands.ts";
import { returnWaitMs } from "#protocol/base/return-wait.ts";
import type { Clock } from "../base/clock.ts";
import { hubFault, type Hub } from "./hub.ts";

/**
 * The one live stream from the hub. It is opened again for ever, after a wait with full jitter, so that a hub that
 * restarts is not met by its whole fleet in the same second: the larger the fleet, the longer the wait. Ends only with the signal or with a fault that says this
 * node is not wanted.
 */
export interface Listening {
  hub: Hub;
  base: string;
  bootId: string;
  clock: Clock;
  signal: AbortSignal;
  /** Over how long the fleet comes back, as the hub said last. */
  withinMs(): number | undefined;
  /** Before each opening: says hello again. Throws when the hub is away. */
  beforeOpen(): Promise<void>;
  onMessage(message: NodeMessage): void;
  /** The stream could not be opened, or ended, for this reason. */
  onLost(error: unknown): void;
}

/** A stream that was open so long was no failure. */
const GOOD_MS = 15_000;
const FATAL: ReadonlySet<string> = new Set(["NODE_UNKNOWN", "NODE_REVOKED", "PROTOCOL_MISMATCH"]);

/** Whether the hub does not want this node at all: nothing can go on. */
export const isFatal = (error: unknown): boolean => isFault(error) && FATAL.has(error.code);

/** Faults: NODE_UNKNOWN, NODE_REVOKED, PROTOCOL_MISMATCH. Returns when the signal fires. */
export async function listen(listening: Listening): Promise<void> {
  const { clock, signal } = listening;
  let tries = 0;
  while (!signal.aborted) {
    try {
      await listening.beforeOpen();
      // It may have fired meanwhile, and would not fire again for the stream.
      if (signal.aborted) return;
      const openedAt = clock.now();
      await openOnce(listening);
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

/** Resolves when the stream ends for whatever reason that may pass. */
function openOnce({ hub, base, bootId, signal, onMessage }: Listening): Promise<void> {
  return new Promise((resolve, reject) => {
    let wasOpen = false;
    const end = (error: Fault | null) => {
      signal.removeEventListener("abort", stop);
      close();
      if (isFatal(error)) reject(error);
      else resolve();
    };
    const stop = () => end(null);
    const close = hub.openStream(
      { bootId },
      {
        onData: (data) => {
          const message = nodeMessage.safeParse(data);
          // A newer hub may say things this worker does not know yet.
          if (message.success) onMessage(message.data);
        },
        onError: (error) => end(hubFault(error, { op: "stream", base })),
        onComplete: () => end(null),
        onConnectionStateChange: ({ state, error }) => {
          // The client would come back by itself, but all nodes at the same moment.
          if (state === "connecting" && (wasOpen || error !== null)) end(null);
          if (state === "pending") wasOpen = true;
        },
      },
    );
    signal.addEventListener("abort", stop, { once: true });
  });
}
