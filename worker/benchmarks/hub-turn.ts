import { randomUUID } from "node:crypto";
import { readDelete, readHead } from "#storage/s3/answers.ts";
import type { EngineName } from "#protocol/benchmarks/engines.ts";
import type { BenchBegin, BenchCaseEnd, BenchJob } from "#protocol/benchmarks/turn.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { Found, HubReach, Present } from "../engines/driver.ts";
import { systemClock } from "../base/clock.ts";
import { callStore, createEngine } from "../transfer/engine.ts";
import { createPatience, createRetrier, withRetry } from "../transfer/store-session/retry.ts";
import { probeRtt } from "../limits/rtt-probe.ts";
import type { Hub } from "../hub-link/hub.ts";
import { createTurnSource } from "../hub-link/hub-source.ts";
import { keepKey, type LentKey } from "./keep-key.ts";
import { runMatrix, type MatrixJob } from "./run-matrix.ts";
import { putObject, unlessRefused, type StoreSide } from "./store-side.ts";

/**
 * Runs this node's turn in a benchmark of its hub. The hub names the cases that are left and signs for their bytes. Every case
 * is reported as it ends, so that after a kill only unreported ones run again. The hub removes what the turn put into the
 * bucket.
 */

/** A node as its hub knows it. */
export interface TurnTaker {
  hub: Hub;
  base: string;
  /** Returns the present credential, which may be replaced during a turn. */
  secret(): string;
}

/** Engines, each found or missing. */
export type Looked = ReadonlyMap<EngineName, Found>;

/** Retries while the hub is unreachable, as during its restart. Faults: those of the hub that stay. */
const patiently = <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> =>
  withRetry(createRetrier(systemClock), { signal, patience: createPatience(systemClock) }, work);

/** Work that is left, and the hub's clock minus this machine's. */
export interface AskedTurn {
  job: BenchJob;
  aheadMs: number;
}

/** Asks the hub for the cases that are left. Faults: CANCELLED when the turn was ended, those of the hub. */
export async function askTurn({ hub }: TurnTaker, turnId: string, signal: AbortSignal): Promise<AskedTurn> {
  const job = await patiently(signal, () =>
    hub.ask("benchTurn", (client, limit) => client.node.benchTurn.query({ turnId }, { signal: limit })),
  );
  return { job, aheadMs: job.hubTimeMs - Date.now() };
}

export interface Turn extends AskedTurn, Pick<MatrixJob, "scratchParent" | "signal"> {
  looked: Looked;
  /** Limits of Tidemark's own requests beside the engines; left out: the defaults. */
  trying?: { retryForMs: number; idleMs: number };
  /** Called after the hub has recorded the case. */
  onCase?: MatrixJob["onCase"];
}

/**
 * Runs the cases that are left and reports each. Faults: CANCELLED when the turn was ended, those of the hub, those of the
 * store before the first case.
 */
export async function runTurn(taker: TurnTaker, turn: Turn): Promise<BenchCaseEnd[]> {
  const { job, looked, signal, scratchParent } = turn;
  const { turnId, settings, folder, cases, grant } = job;
  const { sizeBytes, partBytes, connections, timeLimitMs, memoryBytes } = settings;
  await tellBegin(taker, { turnId, rttMs: await probeRtt(job.access.endpoint), engines: told(looked) }, signal);
  const key = keepKey(job, {
    caseMs: timeLimitMs,
    nowByHub: () => Date.now() + turn.aheadMs,
    ask: async () => (await askTurn(taker, turnId, signal)).job,
  });
  const { store, close } = openHubSide(taker, turn, key);
  try {
    return await runMatrix(store, {
      cases,
      found: presentOf(looked),
      // A new folder each time, so that objects of an earlier attempt are never overwritten.
      folder: `${folder}${randomUUID()}/`,
      scratchParent,
      sizeBytes,
      partBytes,
      connections,
      grant,
      limits: { timeMs: timeLimitMs, memoryBytes },
      signal,
      onCase: async (end, at) => {
        await tellCase(taker, { turnId, end, signal });
        await turn.onCase?.(end, at);
        await key.renew();
      },
    });
  } finally {
    await close();
  }
}

const presentOf = (looked: Looked): Map<EngineName, Present> =>
  new Map([...looked].flatMap(([name, found]) => ("missing" in found ? [] : [[name, found] as const])));

const told = (looked: Looked): BenchBegin["engines"] =>
  [...looked].map(([engine, found]) => ({
    engine,
    version: "missing" in found ? null : found.version.slice(0, 256),
    missing: "missing" in found ? found.missing.slice(0, 512) : null,
  }));

const tellBegin = ({ hub }: TurnTaker, begin: BenchBegin, signal: AbortSignal) =>
  patiently(signal, () =>
    hub.ask("benchBegin", (client, limit) => client.node.benchBegin.mutate(begin, { signal: limit })),
  );

const tellCase = ({ hub }: TurnTaker, about: { turnId: string; end: BenchCaseEnd; signal: AbortSignal }) =>
  patiently(about.signal, () =>
    hub.ask("benchCase", (client, limit) =>
      client.node.benchCase.mutate({ turnId: about.turnId, end: about.end }, { signal: limit }),
    ),
  );

/** Opens the bucket with signatures of the hub, for everything but the engines that were lent a key. */
function openHubSide(taker: TurnTaker, turn: Turn, key: LentKey): { store: StoreSide; close(): Promise<void> } {
  const { job, aheadMs, trying } = turn;
  const { access, turnId } = job;
  const source = createTurnSource(taker.hub, turnId);
  const engine = createEngine({
    source,
    traits: access.traits,
    trust: access.trust,
    direction: "up",
    connections: null,
    limitBytesPerSecond: 0,
    signerNow: () => Date.now() + aheadMs,
    retrier: createRetrier(systemClock, trying?.retryForMs),
    ...(trying === undefined ? {} : { idleMs: trying.idleMs }),
  });
  const ask = <T>(signal: AbortSignal, work: () => Promise<T>) =>
    withRetry(engine.retrier, { signal, patience: createPatience(systemClock) }, work);
  const store: StoreSide = {
    access,
    credential: async () => key.now(),
    get hub(): HubReach {
      return { base: taker.base, credential: taker.secret(), turnId, aheadMs };
    },
    putReference: (file) => putObject(engine, { ...file, sweep: async () => undefined }),
    sizeOf: async ({ key, signal }) => {
      try {
        const head = () => callStore(engine, { operation: { op: "head", key }, signal }, readHead);
        return (await ask(signal, head)).sizeBytes;
      } catch (error) {
        if (isFault(error) && (error.code === "NO_SUCH_KEY" || error.code === "NOT_FOUND")) return null;
        throw error;
      }
    },
    remove: ({ key, signal }) =>
      unlessRefused(() =>
        ask(signal, () => callStore(engine, { operation: { op: "delete", key }, signal }, readDelete)),
      ),
    signedGet: async (key, sizeBytes) => {
      const [request] = await source.sign([{ op: "get", key, offset: 0, length: sizeBytes, etag: null }]);
      if (request === undefined) throw new Fault("UNEXPECTED_ANSWER", { op: "sign", subject: key });
      return request.url;
    },
  };
  return { store, close: () => engine.close() };
}
