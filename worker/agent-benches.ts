import type { NodeStore } from "#protocol/hello.ts";
import type { StoreTraits } from "#protocol/operations.ts";
import { traitsOf } from "#storage/providers.ts";
import type { AgentOptions } from "./agent-options.ts";
import { systemClock } from "./engine/clock.ts";
import { createEngine, type Engine } from "./engine/engine.ts";
import { createRetrier } from "./engine/retry.ts";
import type { LearnedKey, Memory } from "./limits/learned.ts";
import { learnFrom, recollect } from "./limits/recollect.ts";
import type { Throttle } from "./limits/throttle.ts";
import { createHubSource } from "./link/hub-source.ts";
import type { Hub } from "./link/hub.ts";
import type { Session } from "./link/session.ts";

/** The engines of this node, one per direction, made when the hub has said where bytes go. */
export interface Benches {
  up(): { engine: Engine; store: NodeStore } | null;
  down(): { engine: Engine; store: NodeStore } | null;
  /** For what leaves everything else its turn: few connections, little memory. */
  aside(): { engine: Engine; store: NodeStore } | null;
  /** Of the store, as far as it is known by now. */
  traits(): StoreTraits;
  rttMs(): number | null;
  close(): Promise<void>;
}

export function createBenches(parts: {
  options: AgentOptions;
  hub: Hub;
  session: Session;
  throttle: Throttle;
  memory: Memory;
}): Benches {
  const { options, hub, session, throttle, memory } = parts;
  let governed: (() => void)[] = [];
  let learning: (() => Promise<void>)[] = [];
  let made: { place: string; up: Engine; down: Engine; aside: Engine } | null = null;
  const make = (store: NodeStore) => {
    const { traits, endpoint, bucket } = store;
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
    const keys = { up: { endpoint, bucket, direction: "up" }, down: { endpoint, bucket, direction: "down" } } as const;
    const up = createEngine({ ...rest, direction: "up", ...recollect(memory, keys.up), limitBytesPerSecond: 0 });
    const down = createEngine({ ...rest, direction: "down", ...recollect(memory, keys.down), limitBytesPerSecond: 0 });
    const few = { connections: ASIDE_CONNECTIONS, memoryBytes: ASIDE_MEMORY_BYTES };
    const aside = createEngine({ ...rest, ...few, direction: "down", limitBytesPerSecond: 0 });
    for (const release of governed) release();
    for (const end of learning) void end();
    governed = [
      throttle.govern({ ...up, direction: "up", endpoint: () => endpoint }),
      throttle.govern({ ...down, direction: "down", endpoint: () => endpoint }),
      throttle.govern({ ...aside, direction: "down", endpoint: () => endpoint }),
    ];
    const isFixed = options.connections !== null;
    learning = [
      keepLearning({ engine: up, key: keys.up, memory, isFixed }),
      keepLearning({ engine: down, key: keys.down, memory, isFixed }),
    ];
    return { place: placeOf(store), up, down, aside };
  };
  const bench = (direction: "up" | "down" | "aside") => {
    const { store } = session;
    if (store === null) return null;
    if (made?.place !== placeOf(store)) made = make(store);
    return { engine: made[direction], store };
  };
  return {
    up: () => bench("up"),
    down: () => bench("down"),
    aside: () => bench("aside"),
    traits: () => {
      const traits = session.store?.traits ?? traitsOf("other");
      return made === null ? traits : { ...traits, checksum: made.up.store.checksum };
    },
    rttMs: () => {
      const trips = [made?.up.wire.rttMs(), made?.down.wire.rttMs()].filter((ms) => typeof ms === "number");
      return trips.length === 0 ? null : Math.min(...trips);
    },
    close: async () => {
      await Promise.all(learning.map((end) => end()));
      await Promise.all([made?.up.close(), made?.down.close(), made?.aside.close()]);
    },
  };
}

const ASIDE_CONNECTIONS = 2;
const ASIDE_MEMORY_BYTES = 4 * 1024 * 1024;

/** Another one needs other engines. */
const placeOf = ({ endpoint, bucket, traits }: NodeStore): string => JSON.stringify([endpoint, bucket, traits]);

const LOOK_EVERY_MS = 5_000;

/** Keeps what an engine found out whenever it comes to rest. The returned function ends it, after a last look. */
function keepLearning(about: {
  engine: Engine;
  memory: Memory;
  key: LearnedKey;
  isFixed: boolean;
}): () => Promise<void> {
  const { engine, memory, key, isFixed } = about;
  const { gate, meter, limiter } = engine;
  let learntAtBytes = 0;
  let wasLimited = false;
  const look = async () => {
    wasLimited ||= limiter.bytesPerSecond > 0;
    const isBusy = gate.held > 0 || gate.waiting > 0;
    if (isBusy || meter.totalBytes === learntAtBytes) return;
    learntAtBytes = meter.totalBytes;
    const wasFree = !wasLimited && !isFixed;
    wasLimited = false;
    await learnFrom(memory, key, { engine, wasFree, wallNowMs: Date.now() });
  };
  const timer = setInterval(() => void look(), LOOK_EVERY_MS).unref();
  return async () => {
    clearInterval(timer);
    await look();
  };
}
