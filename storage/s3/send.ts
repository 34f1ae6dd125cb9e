import type { SignedRequest } from "#protocol/wire/operations.ts";
import { faultOfNetwork, type HttpAnswer } from "../answers/faults.ts";
import { MAX_XML_BYTES } from "../answers/xml.ts";

/**
 * Sends one signed request through fetch and reads the whole answer. For small things (profile test, direct calls);
 * the byte path has an HTTP client of its own. Redirects are never followed: they are answers like any other.
 */

export interface SendOptions {
  fetch: typeof globalThis.fetch;
  /** The S3 name and the key, for faults. */
  op: string;
  subject: string;
  body?: Uint8Array | string;
  /** Until the last byte of the answer. */
  timeoutMs: number;
}

/** Fetch counts the body itself, and would send a second content-length beside the one it is given. */
function headersForFetch(request: SignedRequest): Record<string, string> {
  const { "content-length": _counted, ...headers } = request.headers;
  return { ...headers, "accept-encoding": "identity" };
}

/** @throws Fault of the network (LINK_DOWN, STALLED, NAME_NOT_RESOLVED, TLS_FAILED). Any status is an answer. */
export async function sendSigned(request: SignedRequest, options: SendOptions): Promise<HttpAnswer> {
  const { op, subject, body, timeoutMs } = options;
  try {
    const response = await options.fetch(request.url, {
      method: request.method,
      headers: headersForFetch(request),
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      ...(body !== undefined && { body: typeof body === "string" ? body : Uint8Array.from(body) }),
    });
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers.entries()),
      body: await readCapped(response),
    };
  } catch (error) {
    throw faultOfNetwork(error, { op, subject });
  }
}

/** The body up to one byte past what any XML may have; what is longer is refused by its reader. */
async function readCapped(response: Response): Promise<Buffer> {
  if (response.body === null) return Buffer.alloc(0);
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    total += chunk.byteLength;
    if (total > MAX_XML_BYTES) break;
  }
  return Buffer.concat(chunks);
}
