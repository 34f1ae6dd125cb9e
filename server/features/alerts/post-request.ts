import { request as requestPlain } from "node:http";
import type { LookupFunction } from "node:net";
import { request as requestTls } from "node:https";
import { Fault } from "#protocol/faults/fault.ts";
import { createAgents } from "#storage/network/agents.ts";
import { lookupFor, refuseEndpoint, type Reach } from "#server/platform/reach.ts";
import type { OutgoingRequest } from "./write-request.ts";

/**
 * Hands a message over to a channel. The address was entered by a person, so it passes the same guard as the endpoint of a
 * bucket, at every try and in the very lookup that connects; no redirect is followed, the answer is read no further than needed, and everything has its time. No
 * fault names more of the address than its host: the rest is a secret.
 */
const ANSWER_MS = 10_000;
const MOST_ANSWER_BYTES = 16 * 1024;
/** Another try may succeed. */
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504]);

interface Posting {
  reach: Reach;
  signal: AbortSignal;
}

/** @throws Fault CHANNEL_REFUSED (never again), CHANNEL_UNREACHABLE (with `retryAfterMs` when it was said), CANCELLED */
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
  // A connection of its own: nothing of one message reaches another.
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

/** Seconds, as all of these services say it. */
function waitOf(header: string | undefined): number | null {
  const seconds = Number(header ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}
