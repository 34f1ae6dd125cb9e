import type { IncomingMessage } from "node:http";
import type { LookupFunction } from "node:net";
import { createAgents } from "./agents.ts";
import { beginRequest, endRequest, headOf } from "./request.ts";
import type { StoreTrust } from "#protocol/wire/store-trust.ts";
import { Fault } from "#protocol/faults/fault.ts";

/**
 * A `fetch` that resolves host names with a given lookup, which the built-in one cannot do. It follows no redirect and
 * limits time and size. For small requests only: the URL as text, headers as an object, a body of text or bytes.
 */

export interface AgentFetchOptions {
  lookup: LookupFunction;
  /** See `Reaching`. */
  trust?: StoreTrust | null | undefined;
  /** Longest time until connected, and then from the last byte sent to the last byte received. */
  answerMs: number;
  /** A longer answer is rejected with Fault UNEXPECTED_ANSWER. */
  mostAnswerBytes: number;
}

async function collect(body: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    total += chunk.byteLength;
    if (total > most) throw new Fault("UNEXPECTED_ANSWER", { detail: `the answer is longer than ${most} bytes` });
  }
  return Uint8Array.from(Buffer.concat(chunks));
}

async function read(message: IncomingMessage, most: number): Promise<Response> {
  const { isEmpty, init } = headOf(message);
  const bytes = await collect(message, most);
  return new Response(isEmpty ? null : bytes, init);
}

/** Returns a `fetch` that buffers the whole answer before it resolves. It rejects with a Fault or a network error. */
export function createAgentFetch(options: AgentFetchOptions): typeof globalThis.fetch {
  const { answerMs, mostAnswerBytes } = options;
  const agents = createAgents({ keepAlive: false }, options);
  return (input, init = {}) =>
    new Promise((resolve, reject) => {
      const sent = beginRequest(new URL(input instanceof Request ? input.url : input), init, agents);
      const late = (): void => void sent.destroy(new Fault("STALLED"));
      let timer = setTimeout(late, answerMs);
      sent.on("socket", (socket) => socket.on("connect", () => clearTimeout(timer)));
      sent.on("finish", () => {
        clearTimeout(timer);
        timer = setTimeout(late, answerMs);
      });
      sent.on("close", () => clearTimeout(timer));
      sent.on("error", reject);
      sent.on("response", (message) => {
        read(message, mostAnswerBytes).then(resolve, (error: unknown) => {
          sent.destroy();
          reject(error instanceof Error ? error : new Error("the answer broke off", { cause: error }));
        });
      });
      endRequest(sent, init);
    });
}
