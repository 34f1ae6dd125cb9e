import { locate } from "#storage/signing/signing.ts";
import { MAX_LIFETIME_MS, presign } from "#storage/signing/sigv4.ts";
import { openKeys } from "../keys/open-keys.ts";
import { readAccess } from "../store-session/store-session.ts";
import { oneKey, usage, type CommandContext } from "../command-line/command-context.ts";

/**
 * Implements `tidemark presign`: prints a URL for one object. Computes it without asking the store. Faults: BAD_INPUT,
 * HOSTILE_NAME.
 */
export async function presignPlace(context: CommandContext): Promise<number> {
  const { config, terminal } = context;
  const { bucket, key } = oneKey(context, "presign");
  const method = (config.text("method") ?? "GET").toUpperCase();
  if (method !== "GET" && method !== "PUT") throw usage(`--method ${config.text("method")}`, "GET or PUT");
  const requestedMs = config.durationMs("expires");
  if (requestedMs < 1000 || requestedMs > MAX_LIFETIME_MS) {
    throw usage(`--expires ${config.text("expires")}`, "from one second to seven days; the protocol allows no more");
  }
  const access = readAccess(config, bucket);
  const credential = await openKeys(config).fresh();
  const nowMs = Date.now();
  // The URL expires together with the key that signed it.
  const lifetimeMs = Math.min(requestedMs, credential.endsAt === undefined ? Infinity : credential.endsAt - nowMs);
  if (lifetimeMs < requestedMs) {
    const sentence = `The URL works until ${new Date(nowMs + lifetimeMs).toISOString()}: the key is a temporary one and ends then.`;
    terminal.say(sentence, { type: "note", sentence });
  }
  const url = presign(
    { method, ...locate(access, key), query: [], headers: {} },
    { credential, region: access.region, nowMs, lifetimeMs },
  );
  const expiresAt = new Date(Math.floor((nowMs + lifetimeMs) / 1000) * 1000).toISOString();
  terminal.result(url, { type: "url", url, method, expiresAt });
  return 0;
}
