import { join } from "node:path";
import * as z from "zod";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import type { NodeStore } from "#protocol/wire/hello.ts";
import { runHomes, type HomeAway, type RunHomes } from "#protocol/wire/homes.ts";
import type { Clock } from "../base/clock.ts";
import type { Engine } from "../transfer/engine.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";
import type { Memory } from "../limits/learned.ts";
import type { Hub } from "../hub-link/hub.ts";
import { isFatal } from "../hub-link/stream.ts";
import type { Capture } from "../capture/capture.ts";

/**
 * Buckets in which the runs of this node have replicas ("homes"): which is nearest, and which cannot be reached. The hub names
 * them, nearest first by the transfers that it has seen. The rates that this machine has learned decide when the hub has not
 * seen all of them. Stored on disk for a start without the hub.
 */
export interface Homes {
  /** Asks the hub. Faults: those that end this node. After any other fault the known answer stays. */
  ask(run: string): Promise<RunHomes | null>;
  /** Asks again for every run that is known. */
  refresh(): Promise<void>;
  /** Returns the buckets of a run, nearest first; empty for a run without replicas. */
  of(run: string): readonly NodeStore[];
  storeOf(run: string, profileId: string): NodeStore | null;
  /** Returns the replicas that still lack a checkpoint which is safe in `home`. */
  owed(run: string, home: string): string[];
  /** Chooses the bucket profile for a capture; null: this node's own. `before`: the profile that was chosen for it earlier. */
  choose(run: string, before: string | null): Promise<string | null>;
  /** Returns why a bucket is passed over; null when it is reachable, or when no other is. */
  isAway(run: string, profileId: string): Fault | null;
  /**
   * Returns another bucket of the run after one did not answer; null when there is none. The hub is asked first: if the hub
   * cannot be reached either, the link is down, and no bucket is to blame.
   */
  elsewhere(run: string, from: string, fault: Fault): Promise<string | null>;
  noteAway(profileId: string, fault: Fault): void;
  noteBack(profileId: string): void;
  /** Watches a transfer to a bucket of a run that has several; null when the run has one only. */
  watch(item: Pick<Capture, "run">, engine: Engine): Watch | null;
  away(): HomeAway[];
}

export interface Watch {
  signal: AbortSignal;
  follow(counters: ProgressCounters): void;
  /** Returns why the transfer was given up; null while it was not. */
  away(): Fault | null;
  end(): void;
}

export interface HomesParts {
  hub: Hub;
  state: string;
  clock: Clock;
  /** Epoch ms. */
  wallNow(): number;
  memory: Pick<Memory, "recall">;
  /** Called when a bucket has become unreachable. */
  onAway?(profileId: string, fault: Fault): void;
}

/** Time without any success after which another bucket is used. */
const AWAY_AFTER_MS = 10_000;
/** Time without a byte at a bucket that answers, after which another one is used. */
const STUCK_AFTER_MS = 30_000;
/** Time after which an unreachable bucket may be tried again. */
const TRY_AGAIN_MS = 5 * 60_000;
/** Time for which the hub's answer about a run counts. */
const FRESH_MS = 5 * 60_000;
const LOOK_MS = 250;
const MOST_RUNS = 64;

const kept = z.object({ runs: z.array(runHomes).max(MOST_RUNS) });

/**
 * Returns why a transfer to a bucket is given up in favor of another one; null while it is not. `sinceMs`: how long it was
 * tried.
 */
export function whyStuck(
  engine: Pick<Engine, "retrier">,
  about: { counters: Pick<ProgressCounters, "idleMs" | "lastFault"> | null; sinceMs: number },
): Fault | null {
  const { breaker, linkFault } = engine.retrier;
  const { counters, sinceMs } = about;
  // Without `sinceMs` a bucket that was left while down would count as down before it is tried again.
  if (Math.min(breaker.downMs(), sinceMs) > AWAY_AFTER_MS) return linkFault ?? new Fault("LINK_DOWN");
  const isStuck = counters !== null && counters.lastFault !== null && counters.idleMs() > STUCK_AFTER_MS;
  return isStuck ? counters.lastFault : null;
}

export async function openHomes(parts: HomesParts): Promise<Homes> {
  const path = join(parts.state, "homes.json");
  const known = new Map<string, RunHomes>();
  for (const one of (await readStateFile(path, kept))?.runs ?? []) known.set(one.run, one);
  /** When each run was asked for, by the monotonic clock. */
  const asked = new Map<string, number>();
  const out = new Map<string, HomeAway & { fault: Fault; until: number }>();

  /**
   * Returns rates that were measured in the same way for all buckets, null for unmeasured ones. The hub saw the rates of whole
   * transfers. This machine remembers the best rate of a link, perhaps weeks old. The two cannot be compared.
   */
  const ratesOf = (homes: RunHomes["homes"]): readonly (number | null)[] => {
    const told = homes.map(({ bytesPerSecond }) => bytesPerSecond);
    if (!told.includes(null)) return told;
    const learnt = homes.map(
      ({ store: { endpoint, bucket } }) =>
        parts.memory.recall({ endpoint, bucket, direction: "up" })?.bytesPerSecond ?? null,
    );
    return learnt.includes(null) ? told : learnt;
  };
  const of = (run: string): NodeStore[] => {
    const homes = known.get(run)?.homes ?? [];
    const rates = ratesOf(homes);
    const ranked = homes.map(({ store }, index) => ({ store, rate: rates[index] ?? -1 }));
    // The sort is stable, so unmeasured buckets keep the hub's order.
    return ranked.toSorted((a, b) => b.rate - a.rate).map(({ store }) => store);
  };
  const isOut = (profileId: string): boolean => (out.get(profileId)?.until ?? -Infinity) > parts.clock.now();
  const nearest = (run: string): NodeStore | null => {
    const homes = of(run);
    return homes.find(({ profileId }) => !isOut(profileId)) ?? homes[0] ?? null;
  };

  const ask = async (run: string): Promise<RunHomes | null> => {
    try {
      const answer = runHomes.parse(
        await parts.hub.ask("homes", (client, signal) => client.node.homes.query({ run }, { signal })),
      );
      asked.set(run, parts.clock.now());
      const isNew = JSON.stringify(known.get(run)) !== JSON.stringify(answer);
      known.delete(run);
      known.set(run, answer);
      if (isNew) await writeStateFile(path, { runs: [...known.values()].slice(-MOST_RUNS) });
      return answer;
    } catch (error) {
      if (isFatal(toFault(error))) throw error;
      return null;
    }
  };
  const noteAway = (profileId: string, fault: Fault) => {
    const before = out.get(profileId);
    const since = before?.since ?? Math.round(parts.wallNow());
    out.set(profileId, { profileId, since, code: fault.code, fault, until: parts.clock.now() + TRY_AGAIN_MS });
    if (before === undefined) parts.onAway?.(profileId, fault);
  };

  return {
    ask,
    refresh: async () => {
      for (const run of new Set([...asked.keys(), ...known.keys()])) await ask(run);
    },
    of,
    storeOf: (run, profileId) => of(run).find((store) => store.profileId === profileId) ?? null,
    owed: (run, home) => {
      const wanted = known.get(run)?.copies ?? 1;
      const others = of(run).filter(({ profileId }) => profileId !== home);
      return others.slice(0, Math.max(0, wanted - 1)).map(({ profileId }) => profileId);
    },
    choose: async (run, before) => {
      if (parts.clock.now() - (asked.get(run) ?? -Infinity) > FRESH_MS) await ask(run);
      const homes = of(run);
      if (homes.length === 0) return null;
      const stays = before !== null && !isOut(before) && homes.some(({ profileId }) => profileId === before);
      return stays ? before : (nearest(run)?.profileId ?? null);
    },
    isAway: (run, profileId) => {
      const isElsewhere = of(run).some((store) => store.profileId !== profileId && !isOut(store.profileId));
      return isElsewhere && isOut(profileId) ? (out.get(profileId)?.fault ?? null) : null;
    },
    elsewhere: async (run, from, fault) => {
      const told = await ask(run);
      if (told === null || !told.homes.some(({ store }) => store.profileId !== from)) return null;
      noteAway(from, fault);
      const next = of(run).find(({ profileId }) => profileId !== from && !isOut(profileId));
      return next?.profileId ?? null;
    },
    noteAway,
    noteBack: (profileId) => {
      out.delete(profileId);
      // A success may have changed which bucket is the nearest.
      asked.clear();
    },
    watch: ({ run }, engine) => {
      if (of(run).length < 2) return null;
      const stop = new AbortController();
      const seen: { counters: ProgressCounters | null; fault: Fault | null } = { counters: null, fault: null };
      const startedAt = parts.clock.now();
      const timer = setInterval(() => {
        const fault = whyStuck(engine, { counters: seen.counters, sinceMs: parts.clock.now() - startedAt });
        if (fault === null) return;
        clearInterval(timer);
        seen.fault = fault;
        stop.abort(new Fault("CANCELLED"));
      }, LOOK_MS);
      return {
        signal: stop.signal,
        follow: (counters) => {
          seen.counters = counters;
        },
        away: () => seen.fault,
        end: () => clearInterval(timer),
      };
    },
    away: () => [...out.values()].map(({ profileId, since, code }) => ({ profileId, since, code })),
  };
}
