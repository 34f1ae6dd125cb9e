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
 * This node's turn in a benchmark of its hub, whoever asked for it: what is left to do comes from the hub, bytes move by its
 * signatures, and every case is told as it ends, so that after a kill only what was not told is run again. What it put into
 * the bucket the hub removes.
 */

/** A node as its hub knows it. */
export interface TurnTaker {
  hub: Hub;
  base: string;
  /** The credential of now: it may be replaced in the middle. */
  secret(): string;
}

/** Engines that were looked for. */
export type Looked = ReadonlyMap<EngineName, Found>;

/** A hub that restarts is waited for. Faults: those of the hub that stay. */
const patiently = <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> =>
  withRetry(createRetrier(systemClock), { signal, patience: createPatience(systemClock) }, work);

/** What is left to do, and the hub's clock minus this machine's. */
export interface AskedTurn {
  job: BenchJob;
  aheadMs: number;
}

/** Faults: CANCELLED when nobody wants it any more, those of the hub. */
export async function askTurn({ hub }: TurnTaker, turnId: string, signal: AbortSignal): Promise<AskedTurn> {
  const job = await patiently(signal, () =>
    hub.ask("benchTurn", (client, limit) => client.node.benchTurn.query({ turnId }, { signal: limit })),
  );
  return { job, aheadMs: job.hubTimeMs - Date.now() };
}

export interface Turn extends AskedTurn, Pick<MatrixJob, "scratchParent" | "signal"> {
  looked: Looked;
  /** Of what is put there for downloads; left out: as usual. */
  trying?: { retryForMs: number; idleMs: number };
  /** After the hub was told of it. */
  onCase?: MatrixJob["onCase"];
}

/** Faults: CANCELLED when nobody wants it any more, those of the hub, those of the store before the first case. */
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
      // What an earlier life of this turn put there is never written over.
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

/** The bucket with signatures of the hub, for everything but the engines that were lent a key. */
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
