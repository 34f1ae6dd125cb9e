import type { NodeStore } from "#protocol/wire/hello.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import type { AgentOptions } from "./agent-options.ts";
import { systemClock } from "../base/clock.ts";
import { createEngine, type Engine, type EngineOptions } from "../transfer/engine.ts";
import { createRetrier } from "../transfer/store-session/retry.ts";
import type { LearnedKey, Memory } from "../limits/learned.ts";
import { learnFrom, recollect } from "../limits/recollect.ts";
import type { Throttle } from "../limits/throttle.ts";
import type { Session } from "../hub-link/session.ts";

/** Engines of this node, one per direction and bucket, created once the hub has named the bucket. */
export interface StoreSessions {
  up(): StoreSession | null;
  down(): StoreSession | null;
  /** Returns an engine for background work that must not slow other transfers: few connections, little memory. */
  aside(): StoreSession | null;
  /** Returns the engines for the bucket of a replica. */
  at(store: NodeStore): { up: StoreSession; down: StoreSession; aside: StoreSession };
  /** Returns the rates of all upload and download engines together, bytes per second, without background engines. */
  rates(): { up: number; down: number };
  /** Returns the traits of the node's own store, as far as they are known by now. */
  traits(): StoreTraits;
  rttMs(): number | null;
  close(): Promise<void>;
}

export interface StoreSession {
  engine: Engine;
  store: NodeStore;
}

interface Made {
  up: Engine;
  down: Engine;
  aside: Engine;
  close(): Promise<void>;
}

export function createStoreSessions(parts: {
  options: AgentOptions;
  /** Creates a source of signatures for one engine. `profileId`: that of a replica; none: the node's own. */
  createSource(profileId?: string): EngineOptions["source"];
  session: Session;
  throttle: Throttle;
  memory: Memory;
}): StoreSessions {
  const { options, session, throttle, memory } = parts;
  /** By bucket. Engines of an unused bucket stay open until the end, because a transfer may still use them. */
  const all = new Map<string, Made>();
  const make = (store: NodeStore): Made => {
    const { traits, endpoint, bucket } = store;
    // Both directions share one link, so they share one circuit breaker.
    const retrier = createRetrier(systemClock, options.patienceMs);
    const own = session.store?.profileId ?? store.profileId;
    const createSource = () => parts.createSource(store.profileId === own ? undefined : store.profileId);
    const rest = {
      traits,
      trust: store.trust,
      retrier,
      connections: options.connections,
      // Each direction gets half of the memory.
      memoryBytes: Math.floor(options.memoryBytes / 2),
      signerNow: session.hubNow,
      idleMs: options.idleMs,
    };
    // The throttle sets the limits later.
    const keys = { up: { endpoint, bucket, direction: "up" }, down: { endpoint, bucket, direction: "down" } } as const;
    const up = createEngine({
      ...rest,
      source: createSource(),
      direction: "up",
      ...recollect(memory, keys.up),
      limitBytesPerSecond: 0,
    });
    const down = createEngine({
      ...rest,
      source: createSource(),
      direction: "down",
      ...recollect(memory, keys.down),
      limitBytesPerSecond: 0,
    });
    const few = { connections: ASIDE_CONNECTIONS, memoryBytes: ASIDE_MEMORY_BYTES };
    const aside = createEngine({ ...rest, source: createSource(), ...few, direction: "down", limitBytesPerSecond: 0 });
    const governed = [
      throttle.govern({ ...up, direction: "up", endpoint: () => endpoint }),
      throttle.govern({ ...down, direction: "down", endpoint: () => endpoint }),
      throttle.govern({ ...aside, direction: "down", endpoint: () => endpoint }),
    ];
    const isFixed = options.connections !== null;
    const learning = [
      keepLearning({ engine: up, key: keys.up, memory, isFixed }),
      keepLearning({ engine: down, key: keys.down, memory, isFixed }),
    ];
    const close = async () => {
      for (const release of governed) release();
      await Promise.all(learning.map((end) => end()));
      await Promise.all([up.close(), down.close(), aside.close()]);
    };
    return { up, down, aside, close };
  };
  const madeFor = (store: NodeStore): Made => {
    const place = placeOf(store);
    const known = all.get(place) ?? make(store);
    all.set(place, known);
    return known;
  };
  const storeSession = (direction: "up" | "down" | "aside") => {
    const { store } = session;
    return store === null ? null : { engine: madeFor(store)[direction], store };
  };
  const own = (): Made | null => (session.store === null ? null : (all.get(placeOf(session.store)) ?? null));
  return {
    up: () => storeSession("up"),
    down: () => storeSession("down"),
    aside: () => storeSession("aside"),
    at: (store) => {
      const { up, down, aside } = madeFor(store);
      return { up: { engine: up, store }, down: { engine: down, store }, aside: { engine: aside, store } };
    },
    rates: () => {
      const made = [...all.values()];
      return {
        up: made.reduce((sum, { up }) => sum + up.meter.bytesPerSecond(), 0),
        down: made.reduce((sum, { down }) => sum + down.meter.bytesPerSecond(), 0),
      };
    },
    traits: () => {
      const traits = session.store?.traits ?? traitsOf("other");
      const made = own();
      return made === null ? traits : { ...traits, checksum: made.up.store.checksum };
    },
    rttMs: () => {
      const made = own();
      const trips = [made?.up.httpClient.rttMs(), made?.down.httpClient.rttMs()].filter((ms) => typeof ms === "number");
      return trips.length === 0 ? null : Math.min(...trips);
    },
    close: async () => {
      await Promise.all([...all.values()].map((made) => made.close()));
    },
  };
}

const ASIDE_CONNECTIONS = 2;
const ASIDE_MEMORY_BYTES = 4 * 1024 * 1024;

/** Returns a key of all that an engine is built for. A change of any of it needs new engines. */
const placeOf = ({ profileId, endpoint, bucket, traits, trust }: NodeStore): string =>
  JSON.stringify([profileId, endpoint, bucket, traits, trust]);

const LOOK_EVERY_MS = 5_000;

/** Stores what an engine has learned whenever it is idle. The returned function stops this after a last look. */
function keepLearning(about: {
  engine: Engine;
  memory: Memory;
  key: LearnedKey;
  isFixed: boolean;
}): () => Promise<void> {
  const { engine, memory, key, isFixed } = about;
  const { semaphore, meter, limiter } = engine;
  let learntAtBytes = 0;
  let wasLimited = false;
  const look = async () => {
    wasLimited ||= limiter.bytesPerSecond > 0;
    const isBusy = semaphore.held > 0 || semaphore.waiting > 0;
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
