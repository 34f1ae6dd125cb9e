import { statSync } from "node:fs";
import { createWakeableSleep, type WakeableSleep } from "../base/wakeable-sleep.ts";
import { systemClock, type Clock } from "../base/clock.ts";
import type { Limiter } from "../transfer/concurrency/limiter.ts";
import type { Meter } from "../transfer/progress/meter.ts";
import { HOUSEHOLD_START, rateOfHousehold, stepHousehold, type HouseholdState } from "./household.ts";
import { probeRtt, type RttProbe } from "./rtt-probe.ts";
import { rateAt, type Timetable, type WallClock } from "../command-line/schedule.ts";
import { limitsFile, NOTHING_SET, readSetLimits, timetablesOf } from "./set-limits.ts";

/**
 * Keeps the rate limiters of this process at the rate in force: that of the timetable it was started with, or of a limit
 * set meanwhile (by `tidemark limit` or a caller). In household mode the rate also stays below what household.ts allows.
 */
export interface Throttle {
  /** Sets the rate of an engine's limiter and updates it until the throttle closes or the returned function is called. */
  govern(governed: Governed): () => void;
  /** Sets limits at once. Null restores the limit that the worker was started with; a direction left out keeps its limit. */
  setLimits(change: { up?: Timetable | null; down?: Timetable | null }): void;
  /** Returns the limits in force in bytes per second, without household mode; 0 is no limit. */
  limits(): Record<Direction, number>;
  close(): void;
}

type Direction = "up" | "down";

export interface Governed {
  direction: Direction;
  /** Limiter of an engine. */
  limiter: Limiter;
  meter: Pick<Meter, "totalBytes">;
  /** Returns the store's address, to time handshakes with the store. */
  endpoint: () => string;
}

/** Limits that a worker was started with. */
export interface Limits {
  up: Timetable;
  down: Timetable;
  wallClock: WallClock;
  /** Household mode: share of the link that is always left to others, 0 to 0.95; null is off. */
  shareForOthers: number | null;
}

export interface ThrottleOptions {
  limits: Limits;
  /** State folder with the file of limits to follow; null: no file is followed. */
  state: string | null;
  /** Number of workers of this machine that share the limits equally; 1 when left out. */
  sharers?: number;
  /** Called when a limit changes, by the clock or by a setting, and at opening when a setting differs. 0 is no limit. */
  onChange?: (direction: Direction, bytesPerSecond: number) => void;
  clock?: Clock;
  /** Epoch ms. */
  wallNow?: () => number;
  probe?: RttProbe;
}

/** Interval at which the file of limits is read. */
const LOOK_MS = 1_000;
/** Longest wait for a timetable's next change, because the wall clock may be set or the machine may sleep meanwhile. */
const LONGEST_WAIT_MS = 30_000;
const PROBE_MS = 1_000;
const PRIMING_PROBES = 3;
/** Rate in household mode until the RTT of the idle link is known. */
const UNKNOWN_LINK_RATE = 64_000;
/** Interval of probes while nothing moves, which measure the RTT of the idle link. */
const PROBE_AT_REST_MS = 4 * 60_000;

/** Reads the limits that are set and follows changes of the file until it is closed. @throws Fault READ_FAILED */
export async function openThrottle(options: ThrottleOptions): Promise<Throttle> {
  const { limits, state, onChange, sharers = 1, clock = systemClock, wallNow = Date.now, probe = probeRtt } = options;
  const stop = new AbortController();
  const set = timetablesOf(state === null ? NOTHING_SET : await readSetLimits(state));
  const wakeables = new Set<WakeableSleep>();
  const shareOf = (timetable: Timetable) => {
    const at = rateAt(timetable, wallNow(), limits.wallClock);
    return { ...at, bytesPerSecond: Math.ceil(at.bytesPerSecond / sharers) };
  };
  const now = (direction: Direction) => shareOf(set[direction] ?? limits[direction]);
  const startedWith = (direction: Direction) => shareOf(limits[direction]).bytesPerSecond;
  const known = { up: startedWith("up"), down: startedWith("down") };
  const tell = (direction: Direction) => {
    const { bytesPerSecond } = now(direction);
    if (known[direction] === bytesPerSecond) return;
    known[direction] = bytesPerSecond;
    onChange?.(direction, bytesPerSecond);
  };
  const setLimits: Throttle["setLimits"] = ({ up, down }) => {
    if (up !== undefined) set.up = up;
    if (down !== undefined) set.down = down;
    tell("up");
    tell("down");
    for (const wakeable of wakeables) wakeable.wake();
  };
  tell("up");
  tell("down");
  if (state !== null) void followFile({ state, clock, signal: stop.signal, onSet: setLimits });
  const follow = async (governed: Governed, signal: AbortSignal) => {
    const { direction, limiter } = governed;
    const wakeable = createWakeableSleep(clock, signal);
    wakeables.add(wakeable);
    const household =
      limits.shareForOthers === null ? null : createHousehold(governed, { clock, probe, share: limits.shareForOthers });
    if (household !== null) limiter.setRate(lesser(now(direction).bytesPerSecond, household.rate()));
    await household?.prime();
    while (!signal.aborted) {
      const { bytesPerSecond, changesInMs } = now(direction);
      tell(direction);
      limiter.setRate(lesser(bytesPerSecond, household?.rate() ?? 0));
      const waitMs = Math.min(LONGEST_WAIT_MS, changesInMs ?? LONGEST_WAIT_MS);
      await wakeable.wait(household === null ? waitMs : Math.min(PROBE_MS, waitMs));
      if (!signal.aborted) await household?.look();
    }
    wakeables.delete(wakeable);
  };
  return {
    setLimits,
    limits: () => ({ up: now("up").bytesPerSecond, down: now("down").bytesPerSecond }),
    govern: (governed) => {
      const end = new AbortController();
      void follow(governed, AbortSignal.any([end.signal, stop.signal]));
      return () => end.abort();
    },
    close: () => stop.abort(),
  };
}

/** Returns the stricter of two limits; 0 is no limit. */
const lesser = (one: number, other: number): number => (one === 0 || other === 0 ? one + other : Math.min(one, other));

/** Checks synchronously: the file is nearly always missing, and an asynchronous call would cost more than this one. */
function isMissing(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/** Polls the content of the file, because file events do not work on every file system. */
async function followFile(about: {
  state: string;
  clock: Clock;
  signal: AbortSignal;
  onSet: Throttle["setLimits"];
}): Promise<void> {
  const { state, clock, signal, onSet } = about;
  /** Reads the file; null when it cannot be read now. */
  const look = async () => (isMissing(limitsFile(state)) ? NOTHING_SET : await readSetLimits(state).catch(() => null));
  let known = JSON.stringify(await look());
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal).catch(() => undefined);
    const limits = await look();
    const seen = JSON.stringify(limits);
    if (signal.aborted || seen === known || limits === null) continue;
    known = seen;
    onSet(timetablesOf(limits));
  }
}

function createHousehold(governed: Governed, about: { clock: Clock; probe: RttProbe; share: number }) {
  const { clock, probe, share } = about;
  let state: HouseholdState = HOUSEHOLD_START;
  let movedBefore = governed.meter.totalBytes;
  const ask = () => probe(governed.endpoint()).catch(() => null);
  let isPrimed = false;
  let lookedAt = clock.now();
  let probedAt = clock.now();
  return {
    /** Returns the allowed rate; 0 is no limit. */
    rate: () => (isPrimed ? (rateOfHousehold(state, clock.now()) ?? 0) : UNKNOWN_LINK_RATE),
    /** Measures the RTT before any bytes move: a link that is full from the start would never show its idle RTT. */
    prime: async () => {
      for (let round = 0; round < PRIMING_PROBES; round++) {
        const rttMs = await ask();
        state = stepHousehold(state, { atMs: clock.now(), rttMs, movedBytes: 0, spanMs: 0 }, share);
        if (rttMs === null) break;
      }
      isPrimed = true;
      lookedAt = clock.now();
      movedBefore = governed.meter.totalBytes;
    },
    look: async () => {
      const before = { atMs: lookedAt, totalBytes: movedBefore };
      lookedAt = clock.now();
      movedBefore = governed.meter.totalBytes;
      const movedBytes = movedBefore - before.totalBytes;
      if (movedBytes === 0 && lookedAt - probedAt < PROBE_AT_REST_MS) return;
      probedAt = lookedAt;
      const rttMs = await ask();
      const sample = { atMs: lookedAt, rttMs, movedBytes, spanMs: lookedAt - before.atMs };
      state = stepHousehold(state, sample, share);
    },
  };
}
