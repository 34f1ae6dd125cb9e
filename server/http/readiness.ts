import { setTimeout as sleep } from "node:timers/promises";
import type { Hub } from "../core/api/hub.ts";
import { channelPlace } from "../signer/secret-place.ts";

/**
 * Finds out whether the hub can do its work, for a load balancer. `/healthz` only says that the process answers: a restart would
 * not bring a database back.
 */

/** A part that keeps the hub from its work. */
export type Missing = "stopping" | "database" | "lock" | "signer";

const LIMIT_MS = 5_000;
/** Anybody may ask, so the parts are asked at most this often. */
const FRESH_MS = 1_000;

/** Returns whether `work` succeeds within the time. */
async function succeeds(work: () => Promise<unknown>, limitMs: number): Promise<boolean> {
  const ended = new AbortController();
  const late = sleep(limitMs, false, { signal: ended.signal, ref: false }).catch(() => false);
  const done = Promise.resolve()
    .then(work)
    .then(
      () => true,
      () => false,
    );
  try {
    return await Promise.race([done, late]);
  } finally {
    ended.abort();
  }
}

async function look(hub: Hub, limitMs: number): Promise<Missing[]> {
  // Sealing proves that the signer has its key; the text is thrown away.
  const seal = () => hub.signer.sealText({ place: channelPlace("readiness"), text: "ready" });
  const [answers, seals] = await Promise.all([
    succeeds(() => hub.db.$queryRaw`SELECT 1`, limitMs),
    succeeds(seal, limitMs),
  ]);
  return [
    ...(answers ? [] : (["database"] as const)),
    ...(hub.canWrite() ? [] : (["lock"] as const)),
    ...(seals ? [] : (["signer"] as const)),
  ];
}

/** Returns what says which parts are missing; none: the hub is ready. `limitMs`: how long a part may take. */
export function createReadiness(hub: Hub, limitMs = LIMIT_MS): () => Promise<Missing[]> {
  let last: { at: number; missing: Promise<Missing[]> } | null = null;
  return async () => {
    if (hub.closing.aborted) return ["stopping"];
    const now = hub.now();
    // A clock that was set back counts as time that passed.
    if (last === null || Math.abs(now - last.at) > FRESH_MS) last = { at: now, missing: look(hub, limitMs) };
    return last.missing;
  };
}
