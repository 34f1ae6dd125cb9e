import type { PreflightView } from "#protocol/wire/profiles.ts";
import { SENT_HEADERS } from "./cors-rules.ts";
import { faultOfNetwork } from "../answers/faults.ts";
import { locate, type StoreAccess } from "../signing/signing.ts";

/** Sends the CORS preflight that a browser would send before an upload, without credentials. */

export interface PreflightInput {
  /** The store, at the endpoint that browsers use. */
  access: StoreAccess;
  /** The object need not exist. */
  key: string;
  origin: string;
  method: string;
  fetch: typeof globalThis.fetch;
  timeoutMs: number;
}

const wordsOf = (header: string | null): string[] =>
  (header ?? "")
    .split(",")
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== "");

/** Returns why a browser would reject this answer, or null. Follows the CORS-preflight fetch of the Fetch standard. */
function whyRefused(answer: Response, { origin, method }: PreflightInput): string | null {
  if (!answer.ok) return `the store answers ${answer.status}`;
  const allowed = answer.headers.get("access-control-allow-origin");
  if (allowed === null) return "the answer names no origin";
  if (allowed !== "*" && allowed !== origin) return "the answer names another origin";
  const methods = wordsOf(answer.headers.get("access-control-allow-methods"));
  // The Fetch standard allows these methods without a listing.
  const isSimple = method === "GET" || method === "HEAD" || method === "POST";
  if (!isSimple && !methods.includes("*") && !methods.includes(method.toLowerCase())) return `${method} is not allowed`;
  const headers = wordsOf(answer.headers.get("access-control-allow-headers"));
  const missing = SENT_HEADERS.filter((name) => !headers.includes("*") && !headers.includes(name));
  return missing.length === 0 ? null : `these headers are not allowed: ${missing.join(", ")}`;
}

/** Sends the preflight and returns its outcome. Never throws: a failure is in the returned view. */
export async function askPreflight(input: PreflightInput): Promise<PreflightView> {
  const { access, key, origin, method, timeoutMs } = input;
  const place = locate(access, key);
  try {
    const answer = await input.fetch(place.origin + place.path, {
      method: "OPTIONS",
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        origin,
        "access-control-request-method": method,
        "access-control-request-headers": SENT_HEADERS.join(","),
      },
    });
    await answer.body?.cancel();
    const why = whyRefused(answer, input);
    return { method, isAllowed: why === null, says: why ?? "allowed", fault: null };
  } catch (error) {
    const fault = faultOfNetwork(error, { op: "Preflight", subject: place.origin });
    return { method, isAllowed: false, says: "the store did not answer", fault: fault.toData() };
  }
}
