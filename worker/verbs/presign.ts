import { locate } from "#storage/signing.ts";
import { MAX_LIFETIME_MS, presign } from "#storage/sigv4.ts";
import { readAccess, readCredential } from "./bench.ts";
import { oneKey, usage, type Verb } from "./verb.ts";

/** `tidemark presign`: a URL for one object. Computed here; no store is asked. Faults: BAD_INPUT, HOSTILE_NAME. */
export async function presignPlace(verb: Verb): Promise<number> {
  const { config, terminal } = verb;
  const { bucket, key } = oneKey(verb, "presign");
  const method = (config.text("method") ?? "GET").toUpperCase();
  if (method !== "GET" && method !== "PUT") throw usage(`--method ${config.text("method")}`, "GET or PUT");
  const lifetimeMs = config.durationMs("expires");
  if (lifetimeMs < 1000 || lifetimeMs > MAX_LIFETIME_MS) {
    throw usage(`--expires ${config.text("expires")}`, "from one second to seven days; the protocol allows no more");
  }
  const access = readAccess(config, bucket);
  const nowMs = Date.now();
  const url = presign(
    { method, ...locate(access, key), query: [], headers: {} },
    { credential: readCredential(config), region: access.region, nowMs, lifetimeMs },
  );
  const expiresAt = new Date(Math.floor((nowMs + lifetimeMs) / 1000) * 1000).toISOString();
  terminal.result(url, { type: "url", url, method, expiresAt });
  return 0;
}
