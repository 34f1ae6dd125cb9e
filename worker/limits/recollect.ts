import type { Engine, EngineOptions } from "../transfer/engine.ts";
import type { LearnedKey, Memory } from "./learned.ts";

/** Returns the options with which an engine starts, from what is remembered of the bucket. */
export function recollect(memory: Memory, key: LearnedKey): Pick<EngineOptions, "firstConnections" | "keptChecksum"> {
  const known = memory.recall(key);
  return {
    keptChecksum: memory.recallChecksum(key),
    ...(known === null ? {} : { firstConnections: known.connections }),
  };
}

/** A finding is written again only when it is older than this or has changed. */
const FRESH_MS = 24 * 60 * 60 * 1000;

/**
 * Stores what an engine found out. `wasFree`: no bandwidth limit applied, and the number of connections was not fixed. Only
 * then does the rate describe the link. Never throws.
 */
export async function learnFrom(
  memory: Memory,
  key: LearnedKey,
  about: { engine: Pick<Engine, "controller" | "httpClient" | "store">; wasFree: boolean; wallNowMs: number },
): Promise<void> {
  const { engine, wasFree, wallNowMs } = about;
  const best = wasFree ? engine.controller.best() : null;
  if (best !== null) {
    const { width: connections, bytesPerSecond } = best;
    await memory.learn(key, { connections, bytesPerSecond, baseRttMs: engine.httpClient.rttMs() });
  }
  const found = engine.store.found(wallNowMs);
  const kept = memory.recallChecksum(key);
  const isKnown = kept?.checksum === found?.checksum && wallNowMs - (kept?.foundAt ?? 0) < FRESH_MS;
  if (found !== null && !isKnown) await memory.learnChecksum(key, found);
}
