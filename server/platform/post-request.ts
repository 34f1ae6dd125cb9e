import { request as requestPlain } from "node:http";
import type { LookupFunction } from "node:net";
import { request as requestTls } from "node:https";
import { Fault } from "#protocol/faults/fault.ts";
import { createAgents } from "#storage/network/agents.ts";
import { lookupFor, refuseEndpoint, type Reach } from "#server/platform/reach.ts";
import type { OutgoingRequest } from "#storage/webhooks/write-request.ts";

/**
 * Delivers a message to a channel over HTTP. A person entered the address, so it passes the same guard as the endpoint of a
 * bucket, at every try and in the DNS lookup that connects. Follows no redirect, and limits size and time of the answer. Faults
 * name only the host, because the rest of the address is a secret.
 */
const ANSWER_MS = 10_000;
const MOST_ANSWER_BYTES = 16 * 1024;
/** Status codes after which another try may succeed. */
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504]);

interface Posting {
  reach: Reach;
  signal: AbortSignal;
}

/**
 * Sends one request.
 * @throws Fault CHANNEL_REFUSED (permanent), CHANNEL_UNREACHABLE (with `retryAfterMs` if it was sent), CANCELLED
 */
export async function postRequest(outgoing: OutgoingRequest, { reach, signal }: Posting): Promise<void> {
  const url = new URL(outgoing.url);
  const subject = url.host;
  try {
    await refuseEndpoint(url.origin, reach);
  } catch (error) {
    const detail =
      error instanceof Fault ? (error.context.detail ?? "its address is not allowed") : "it was not checked";
    throw new Fault("CHANNEL_REFUSED", { subject, detail });
  }
  const answer = await exchange(url, outgoing, { closing: signal, lookup: lookupFor(url.origin, reach) });
  if (answer.status >= 200 && answer.status < 300) return;
  const about = { subject, status: answer.status, detail: `HTTP ${answer.status}` };
  if (!PASSING.has(answer.status)) throw new Fault("CHANNEL_REFUSED", about);
  throw new Fault("CHANNEL_UNREACHABLE", {
    ...about,
    ...(answer.retryAfterMs === null ? {} : { retryAfterMs: answer.retryAfterMs }),
  });
}

interface Answer {
  status: number;
  retryAfterMs: number | null;
}

function exchange(
  url: URL,
  { headers, body }: OutgoingRequest,
  { closing, lookup }: { closing: AbortSignal; lookup: LookupFunction },
): Promise<Answer> {
  const limit = AbortSignal.timeout(ANSWER_MS);
  const signal = AbortSignal.any([limit, closing]);
  const isTls = url.protocol === "https:";
  const send = isTls ? requestTls : requestPlain;
  // Opens a connection for each message, so that messages share no state.
  const { httpAgent, httpsAgent } = createAgents({ keepAlive: false }, { lookup });
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      if (closing.aborted) return reject(new Fault("CANCELLED", { op: "alert" }));
      const code = "code" in error && typeof error.code === "string" ? error.code : "the connection failed";
      const detail = limit.aborted ? `no answer within ${ANSWER_MS / 1000} s` : code;
      reject(new Fault("CHANNEL_UNREACHABLE", { subject: url.host, detail }));
    };
    const sent = send(
      url,
      {
        method: "POST",
        agent: isTls ? httpsAgent : httpAgent,
        lookup,
        signal,
        headers: { ...headers, "content-length": Buffer.byteLength(body), "user-agent": "Tidemark" },
      },
      (answer) => {
        let bytes = 0;
        const end = () =>
          resolve({ status: answer.statusCode ?? 0, retryAfterMs: waitOf(answer.headers["retry-after"]) });
        answer.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes <= MOST_ANSWER_BYTES) return;
          end();
          answer.destroy();
        });
        answer.on("end", end);
        answer.on("error", fail);
      },
    );
    sent.on("error", fail);
    sent.end(body);
  });
}

/** Returns `Retry-After` in ms; all of these services send it in seconds. */
function waitOf(header: string | undefined): number | null {
  const seconds = Number(header ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}
