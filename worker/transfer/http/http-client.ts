import { Fault } from "#protocol/faults/fault.ts";
import { isIP } from "node:net";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import type { StoreTrust } from "#protocol/wire/store-trust.ts";
import { network } from "#storage/network/network.ts";
import { diskSense, type DiskSense } from "#worker/base/adaptive-sync-io.ts";
import { createTimerCoalescer, type TimerCoalescer } from "#worker/base/timer-coalescer.ts";
import { reasonOf } from "#worker/base/clock.ts";
import { createBuffers, type Buffers } from "./socket/buffers.ts";
import { createAddresses, type Addresses } from "./socket/addresses.ts";
import type { Resolving } from "./socket/resolve-addresses.ts";
import { createEncryption } from "./tls/encrypt-directly.ts";
import type { Exchange, Sink } from "./exchange.ts";
import { Exchanging } from "./exchanging.ts";
import { measureRtt } from "./socket/measure-rtt.ts";
import { createTargets, type Origin } from "./socket/open-socket.ts";
import { createPacer, type Pace } from "./socket/pace.ts";
import type { Straight } from "./socket/move-directly.ts";
import { answerTickMs } from "./flow.ts";
import { createPool } from "./pool.ts";
import { createTickReader } from "./socket/read-at-ticks.ts";
import { createInputWatch } from "./socket/input-watch.ts";
import { createRoomWatch } from "./socket/room-watch.ts";
import { systemCalls, type SystemCalls } from "#worker/base/system-calls.ts";
import { createRttEstimator, type RttEstimator } from "./socket/rtt-estimator.ts";

export { HEAD_ROOM_BYTES, HeldBody } from "./exchange.ts";
export type { Exchange, PacedSocket, Sink, UploadBody } from "./exchange.ts";
export type { TcpInfo } from "#worker/base/system-calls.ts";

/**
 * HTTP/1.1 client on sockets of its own, because a general client costs several times the CPU and memory. It never sends
 * `Expect: 100-continue`, never asks for a content coding, never follows a redirect, and watches every request for stalls. It
 * retries in one case: a request on an idle connection that turns out to be closed goes out again on a new one. An exchange
 * resolves with whatever the store answered, or rejects with one Fault.
 */
export interface HttpClient {
  /** Sends a signed request without or with a body, and reads the whole (small) answer. */
  send(exchange: Exchange): Promise<HttpAnswer>;
  /**
   * Sends a signed request and passes the body of a 2xx answer to `sink` as it arrives. Other answers are read whole. An
   * answer whose end shows only by the closed connection resolves like any other, so the sink has to count.
   */
  fetch(exchange: Exchange & { sink: Sink }): Promise<HttpAnswer>;
  /** Opens connections to the origin of `url` until `count` are idle or busy, in the background; failures are ignored. */
  warm(url: string, count: number): void;
  /** Returns the shortest recent time to connect or to the first byte of a request without a body, ms; null when unknown. */
  rttMs(): number | null;
  /**
   * Measures `tries` TCP handshakes (default: three) with the origin of the last request. Returns their median, ms; null when
   * one fails.
   */
  measureRtt(tries?: number): Promise<number | null>;
  /** Sets the most connections; idle ones above it are closed, requests above it wait in line. */
  setConnections(count: number): void;
  /** Number of connections, those being made included. */
  readonly open: number;
  /** Number of idle connections past their slow start; the next requests go out on them. */
  readonly grown: number;
  /** Drops every connection; requests under way fail with CANCELLED. */
  close(): Promise<void>;
  /** Established connections by address, of the origins with addresses to choose from. */
  readonly spread: ReadonlyMap<string, number>;
  /** Returns the addresses that the host name of `url` was found to have; none where it was not looked up. */
  addressesOf(url: string): readonly string[];
}

export interface HttpClientOptions {
  connections: number;
  /** Longest time without a byte either way, ms. */
  idleMs?: number;
  /** Buffer of each busy connection. */
  bufferBytes?: number;
  connectMs?: number;
  /** Longest time after which an idle connection is reused, ms, where the store does not say. */
  restMs?: number;
  now?: () => number;
  /** Certificates to trust instead of all others, PEM. */
  ca?: string;
  /** Requirements on the store's certificate beyond the default. */
  trust?: StoreTrust | undefined;
  /** Resolves host names in place of the system. */
  naming?: { resolver: Resolving };
  /** Returns the addresses that a host name had in an earlier run. */
  rememberedOf?: (host: string) => readonly string[];
  /** Called when an RTT was measured. */
  onRoundTrip?: () => void;
  coalescer?: TimerCoalescer;
  buffers?: Buffers;
  pace?: Pace;
  /** Native system calls; null: as on a system that has none. */
  calls?: SystemCalls | null;
  disk?: DiskSense;
  /** Bodies from files will be sent, so the native calls are loaded early. */
  sendsFiles?: boolean;
}

const IDLE_MS = 15_000;
const CONNECT_MS = 8_000;
/** Below the five seconds after which servers made with Node close idle connections. */
const REST_MS = 4_000;
const BUFFER_BYTES = 256 * 1024;
const SCRATCH_BYTES = 64 * 1024;
/** The aim is well below half of the first receive window: bytes that wait in the kernel should not narrow it much. */
const PACE: Pace = { tickMs: 4, aimBytes: 32 * 1024, mostMs: 40, growBytes: 512 * 1024 };
const MOST_CHECK_MS = 500;

function openStraight(
  calls: SystemCalls | null,
  {
    coalescer,
    rttEstimator,
    pace,
    now,
  }: { coalescer: TimerCoalescer; rttEstimator: RttEstimator; pace: Pace; now: () => number },
): Straight | null {
  const rooms = calls?.watchRoom() ?? null;
  const inputs = calls?.watchInput() ?? null;
  if (calls === null || rooms === null || inputs === null) {
    rooms?.close();
    inputs?.close();
    return null;
  }
  return {
    calls,
    rooms: createRoomWatch(rooms, { coalescer, rttMs: rttEstimator.leastMs, now }),
    inputs: createInputWatch(inputs, now),
    ticks: createTickReader(inputs, { tickMs: () => answerTickMs(pace, rttEstimator), now }),
  };
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { connections, idleMs = IDLE_MS, connectMs = CONNECT_MS, now = () => performance.now() } = options;
  const pace = options.pace ?? PACE;
  const coalescer = options.coalescer ?? createTimerCoalescer();
  const rttEstimator = createRttEstimator(now, options.onRoundTrip);
  const buffers =
    options.buffers ?? createBuffers({ sizeBytes: options.bufferBytes ?? BUFFER_BYTES, spare: connections });
  let straight: Straight | null | undefined;
  const straightOnce = () => {
    if (straight === undefined && isClosed) return null;
    if (straight === undefined) {
      const calls = options.calls === undefined ? systemCalls() : options.calls;
      straight = openStraight(calls, { coalescer, rttEstimator, pace, now });
    }
    return straight;
  };
  const byOrigin = new Map<string, Addresses>();
  const addressesOf = ({ key, host, proxy, isTls }: Origin): Addresses | null => {
    if (proxy !== null || isIP(host) !== 0) return null;
    const remembered = isTls ? (options.rememberedOf?.(host) ?? []) : [];
    const known = byOrigin.get(key) ?? createAddresses(host, { now, remembered, ...options.naming });
    byOrigin.set(key, known);
    return known;
  };
  const ca = () => options.ca ?? network().authorities.forStore(options.trust?.ca ?? null);
  const pin = options.trust?.pin ?? null;
  const encryption = createEncryption({ ca, isPinned: pin !== null, straight: straightOnce });
  const pool = createPool({
    connections,
    coalescer,
    checkMs: Math.min(MOST_CHECK_MS, Math.max(10, Math.min(idleMs, connectMs) / 8)),
    shared: {
      buffers,
      scratch: Buffer.allocUnsafeSlow(SCRATCH_BYTES),
      pacer: createPacer(now),
      disk: options.disk ?? diskSense,
      straight: straightOnce,
      rttEstimator,
      tls: { ca, pin, tickets: new Map() },
      encryption,
      addressesOf,
      now,
      idleMs,
      connectMs,
      restMs: options.restMs ?? REST_MS,
      pace,
    },
  });
  const targetOf = createTargets();
  let lastOrigin: Origin | null = null;
  const underWay = new Set<Exchanging>();
  let isClosed = false;

  const exchangeOnce = (exchange: Exchange, sink: Sink | null): Promise<HttpAnswer> =>
    new Promise((resolve, reject) => {
      const { signal, request, op, subject } = exchange;
      if (signal.aborted) throw reasonOf(signal);
      if (isClosed) throw new Fault("CANCELLED", { op, subject });
      const target = targetOf(request.url);
      lastOrigin = target.origin;
      new Exchanging({ exchange, sink, target, pool, underWay }, { resolve, reject }).begin();
    });
  return {
    send: (exchange) => exchangeOnce(exchange, null),
    fetch: (exchange) => exchangeOnce(exchange, exchange.sink),
    warm: (url, count) => {
      pool.warm(targetOf(url).origin, count);
      // Loads the native calls while the process only waits for connections.
      if (options.sendsFiles === true) setImmediate(straightOnce);
    },
    rttMs: () => rttEstimator.leastMs(),
    measureRtt: (tries = 3) =>
      lastOrigin === null ? Promise.resolve(null) : measureRtt(lastOrigin, { mostMs: connectMs, tries }),
    setConnections: (count) => pool.setConnections(count),
    get grown() {
      return pool.grown;
    },
    get open() {
      return pool.open;
    },
    addressesOf: (url) => byOrigin.get(targetOf(url).origin.key)?.lookedUp ?? [],
    get spread() {
      return new Map([...byOrigin.values()].flatMap(({ open }) => [...open]));
    },
    close: async () => {
      isClosed = true;
      for (const one of underWay) one.end(new Fault("CANCELLED"));
      pool.close();
      encryption.close();
      straight?.rooms.close();
      straight?.inputs.close();
      straight?.ticks.close();
    },
  };
}
