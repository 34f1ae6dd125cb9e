import type { Engine, EngineOptions } from "../transfer/engine.ts";
import type { LearnedKey, Memory } from "./learned.ts";

/** Between what is remembered of a bucket and an engine that moves bytes to or from it. */

/** What an engine begins with. */
export function recollect(memory: Memory, key: LearnedKey): Pick<EngineOptions, "firstConnections" | "keptChecksum"> {
  const known = memory.recall(key);
  return {
    keptChecksum: memory.recallChecksum(key),
    ...(known === null ? {} : { firstConnections: known.connections }),
  };
}

/** A finding is written again only when it is older than this, or another one. */
const FRESH_MS = 24 * 60 * 60 * 1000;

/**
 * Keeps what an engine found out. `wasFree`: no limit of ours held it back, and nobody had fixed its connections; only
 * then its rate says something about the link. No faults.
 */
export async function learnFrom(
  memory: Memory,
  key: LearnedKey,
  about: { engine: Pick<Engine, "helm" | "wire" | "store">; wasFree: boolean; wallNowMs: number },
): Promise<void> {
  const { engine, wasFree, wallNowMs } = about;
  const best = wasFree ? engine.helm.best() : null;
  if (best !== null) {
    const { width: connections, bytesPerSecond } = best;
    await memory.learn(key, { connections, bytesPerSecond, baseRttMs: engine.wire.rttMs() });
  }
  const found = engine.store.found(wallNowMs);
  const kept = memory.recallChecksum(key);
  const isKnown = kept?.checksum === found?.checksum && wallNowMs - (kept?.foundAt ?? 0) < FRESH_MS;
  if (found !== null && !isKnown) await memory.learnChecksum(key, found);
}
