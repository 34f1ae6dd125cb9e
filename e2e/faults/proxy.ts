import { connect, createServer, type Server, type Socket } from "node:net";
import { carry, type ActiveToxic, type Lane } from "./carry.ts";
import { createPortHolder } from "./hold-port.ts";
import { createRandom } from "./random.ts";
import type { Direction, ToxicRule } from "./toxics.ts";

/**
 * A link that can be made to fail: it accepts connections, opens one to the target for each, and carries the bytes both
 * ways through the armed toxics. Which connections a toxic hits is drawn from the seed in the order they come, so the
 * same seed gives the same schedule.
 */
export interface FaultProxy {
  readonly endpoint: string;
  readonly port: number;
  /** Arms a toxic for connections that are open already and those to come; the answer takes it away. */
  arm(rule: ToxicRule): () => void;
  /** Takes all toxics away. */
  disarm(): void;
  /** Resets every open connection; returns how many. */
  resetAll(): number;
  /** Resets each open connection with this chance; returns how many. */
  resetSome(chance: number): number;
  /** Refuses connections from now on and resets those that are open. */
  down(): Promise<void>;
  up(): Promise<void>;
  seen(): ProxyCounts;
  /** Starts a new schedule: counts from nothing, draws from this seed, nothing armed. */
  restart(seed: number): Promise<void>;
  close(): Promise<void>;
}

export interface ProxyCounts {
  readonly connections: number;
  readonly open: number;
  readonly upBytes: number;
  readonly downBytes: number;
  /** How often a toxic did something. */
  readonly hits: number;
}

interface Armed {
  readonly rule: ToxicRule;
  isArmed: boolean;
  used: number;
  lift: () => void;
  readonly lifted: Promise<void>;
}

interface Link {
  readonly client: Socket;
  readonly store: Socket;
  readonly at: Readonly<Record<Direction, Map<Armed, ActiveToxic | null>>>;
}

/** `target` is where the store listens on this machine. */
export async function startProxy(options: { target: number; seed: number }): Promise<FaultProxy> {
  let random = createRandom(options.seed);
  let armed: Armed[] = [];
  let counts = { connections: 0, upBytes: 0, downBytes: 0, hits: 0 };
  const links = new Set<Link>();

  const concerns = (link: Link, one: Armed, direction: Direction): ActiveToxic | null => {
    const known = link.at[direction].get(one);
    if (known !== undefined) return known;
    const { share = 1, times = Infinity, toxic } = one.rule;
    let active: ActiveToxic | null = null;
    if (one.used < times && random.next() < share) {
      one.used++;
      let isCounted = false;
      active = {
        toxic,
        isArmed: () => one.isArmed,
        hit: () => {
          if (!isCounted) counts.hits++;
          isCounted = true;
        },
        lifted: one.lifted,
      };
    }
    link.at[direction].set(one, active);
    return active;
  };
  const toxicsOf = (link: Link, direction: Direction): ActiveToxic[] =>
    armed
      .filter((one) => one.rule.direction === direction)
      .map((one) => concerns(link, one, direction))
      .filter((one) => one !== null);

  const accept = (client: Socket) => {
    const store = connect({ port: options.target, host: "127.0.0.1", noDelay: true });
    const link: Link = { client, store, at: { up: new Map(), down: new Map() } };
    counts.connections++;
    links.add(link);
    client.setNoDelay(true);
    const reset = () => {
      client.resetAndDestroy();
      store.resetAndDestroy();
    };
    for (const socket of [client, store]) socket.on("error", () => undefined);
    // An end that breaks breaks the other; an orderly end goes through the lanes.
    const follow = (one: Socket, other: Socket) =>
      one.on("close", (failed: boolean) => {
        if (failed) other.resetAndDestroy();
        if (one.destroyed && other.destroyed) links.delete(link);
      });
    follow(client, store);
    follow(store, client);
    const laneOf = (direction: Direction): Lane => ({
      from: direction === "up" ? client : store,
      to: direction === "up" ? store : client,
      random,
      toxics: () => toxicsOf(link, direction),
      reset,
      onBytes: (bytes) => {
        if (direction === "up") counts.upBytes += bytes;
        else counts.downBytes += bytes;
      },
    });
    void carry(laneOf("up"));
    void carry(laneOf("down"));
  };

  const listen = (port: number): Promise<Server> =>
    new Promise((resolve, reject) => {
      const server = createServer({ allowHalfOpen: true }, accept);
      server.once("error", reject);
      server.listen(port, "127.0.0.1", () => resolve(server));
    });
  const stopListening = (server: Server) =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  const holder = await createPortHolder();
  let server: Server | null = await listen(0);
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;

  const proxy: FaultProxy = {
    endpoint: `http://127.0.0.1:${port}`,
    port,
    arm: (rule) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const one: Armed = { rule, isArmed: true, used: 0, lift: resolve, lifted: promise };
      armed.push(one);
      return () => {
        one.isArmed = false;
        one.lift();
        armed = armed.filter((other) => other !== one);
      };
    },
    disarm: () => {
      for (const one of armed) {
        one.isArmed = false;
        one.lift();
      }
      armed = [];
    },
    resetAll: () => {
      const all = [...links];
      for (const { client, store } of all) {
        client.resetAndDestroy();
        store.resetAndDestroy();
      }
      links.clear();
      return all.length;
    },
    resetSome: (chance) => {
      const unlucky = [...links].filter(() => random.next() < chance);
      for (const { client, store } of unlucky) {
        client.resetAndDestroy();
        store.resetAndDestroy();
      }
      counts.hits += unlucky.length;
      return unlucky.length;
    },
    down: async () => {
      const closing = server;
      server = null;
      if (closing === null) return;
      const closed = stopListening(closing);
      const held = holder.hold(port);
      counts.hits += proxy.resetAll();
      await Promise.all([closed, held]);
    },
    up: async () => {
      server ??= await listen(port);
      holder.release();
    },
    seen: () => ({ ...counts, open: links.size }),
    restart: async (seed) => {
      proxy.disarm();
      proxy.resetAll();
      await proxy.up();
      random = createRandom(seed);
      counts = { connections: 0, upBytes: 0, downBytes: 0, hits: 0 };
    },
    close: async () => {
      proxy.disarm();
      const closed = server === null ? Promise.resolve() : stopListening(server);
      server = null;
      proxy.resetAll();
      await Promise.all([closed, holder.close()]);
    },
  };
  return proxy;
}
