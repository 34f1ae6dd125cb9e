import type { SignedRequest } from "#protocol/wire/operations.ts";
import { faultOfNetwork, type HttpAnswer } from "../answers/faults.ts";
import { MAX_XML_BYTES } from "../answers/xml.ts";

/**
 * Sends one signed request with fetch and reads the whole answer. For small requests (profile test, direct calls); data
 * transfers use another HTTP client. Redirects are returned as answers, never followed.
 */

export interface SendOptions {
  fetch: typeof globalThis.fetch;
  /** The S3 operation and the key, for Faults. */
  op: string;
  subject: string;
  body?: Uint8Array | string;
  /** Timeout until the last byte of the answer, ms. */
  timeoutMs: number;
}

/** Removes content-length: fetch computes it and would otherwise send it twice. */
function headersForFetch(request: SignedRequest): Record<string, string> {
  const { "content-length": _counted, ...headers } = request.headers;
  return { ...headers, "accept-encoding": "identity" };
}

/** Sends the request; any status is an answer. @throws Fault LINK_DOWN, STALLED, NAME_NOT_RESOLVED, TLS_FAILED */
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

/** Reads at most slightly more than the XML limit; the reader refuses a longer body. */
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
