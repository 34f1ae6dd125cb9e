import type { NodeStore } from "#protocol/hello.ts";
import type { StoreTraits } from "#protocol/operations.ts";
import { traitsOf } from "#storage/providers.ts";
import type { AgentOptions } from "./agent-options.ts";
import { systemClock } from "./engine/clock.ts";
import { createEngine, type Engine } from "./engine/engine.ts";
import { createRetrier } from "./engine/retry.ts";
import type { Throttle } from "./limits/throttle.ts";
import { createHubSource } from "./link/hub-source.ts";
import type { Hub } from "./link/hub.ts";
import type { Session } from "./link/session.ts";

/** The engines of this node, one per direction, made when the hub has said where bytes go. */
export interface Benches {
  up(): { engine: Engine; store: NodeStore } | null;
  down(): { engine: Engine; store: NodeStore } | null;
  traits(): StoreTraits;
  rttMs(): number | null;
  close(): Promise<void>;
}

export function createBenches(parts: {
  options: AgentOptions;
  hub: Hub;
  session: Session;
  throttle: Throttle;
}): Benches {
  const { options, hub, session, throttle } = parts;
  let governed: (() => void)[] = [];
  let made: { traits: string; up: Engine; down: Engine } | null = null;
  const make = (traits: StoreTraits) => {
    // One breaker: both directions share the link.
    const retrier = createRetrier(systemClock, options.patienceMs);
    const source = createHubSource(hub);
    const rest = {
      source,
      traits,
      retrier,
      connections: options.connections,
      // Each direction its half.
      memoryBytes: Math.floor(options.memoryBytes / 2),
      signerNow: session.hubNow,
      idleMs: options.idleMs,
    };
    // The throttle sets the limits.
    const up = createEngine({ ...rest, limitBytesPerSecond: 0 });
    const down = createEngine({ ...rest, limitBytesPerSecond: 0 });
    for (const release of governed) release();
    const endpoint = () => session.store?.endpoint ?? "";
    governed = [
      throttle.govern({ ...up, direction: "up", endpoint }),
      throttle.govern({ ...down, direction: "down", endpoint }),
    ];
    return { traits: JSON.stringify(traits), up, down };
  };
  const bench = (direction: "up" | "down") => {
    const { store } = session;
    if (store === null) return null;
    if (made?.traits !== JSON.stringify(store.traits)) made = make(store.traits);
    return { engine: made[direction], store };
  };
  return {
    up: () => bench("up"),
    down: () => bench("down"),
    traits: () => session.store?.traits ?? traitsOf("other"),
    rttMs: () => {
      const trips = [made?.up.wire.rttMs(), made?.down.wire.rttMs()].filter((ms) => typeof ms === "number");
      return trips.length === 0 ? null : Math.min(...trips);
    },
    close: async () => {
      await Promise.all([made?.up.close(), made?.down.close()]);
    },
  };
}
