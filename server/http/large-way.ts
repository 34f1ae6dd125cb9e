import type { IncomingMessage, ServerResponse } from "node:http";
import { Fault } from "#protocol/faults/fault.ts";
import type { Hub } from "../core/api/hub.ts";
import { trpcError } from "#server/core/api/trpc-error.ts";
import { API_PATH } from "../platform/api-path.ts";
import { createContext } from "./create-context.ts";
import type { InputReader } from "../core/api/input-reader.ts";
import { LARGE_INPUTS, PARSED_HERE_BYTES } from "../core/api/large-inputs.ts";
import { answerMutation, type Refused } from "./node-fast-path.ts";
import type { Caller } from "#server/core/api/caller.ts";

/** Answers calls whose bodies are too large to be parsed here: a thread does that, after their senders were let in. */

interface LargeWay {
  hub: Hub;
  reader: InputReader;
  onError: Refused;
}

/** The procedure of a large call that stands alone; null for everything else. A body that does not say its length may be large. */
function largeCallOf({ method, url = "", headers }: IncomingMessage): string | null {
  const path = url.startsWith(API_PATH) ? url.slice(API_PATH.length) : "";
  if (method !== "POST" || !LARGE_INPUTS.has(path)) return null;
  const { "content-length": length } = headers;
  return length === undefined || Number(length) > PARSED_HERE_BYTES ? path : null;
}

/** @throws TRPCError with Fault TOO_LARGE; Error when the caller left */
async function bodyOf(request: IncomingMessage, mostBytes: number): Promise<Uint8Array> {
  const tooLarge = () => trpcError(new Fault("TOO_LARGE"));
  if (Number(request.headers["content-length"] ?? 0) > mostBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  // Not destroyed when it is too long: the answer goes the same way.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > mostBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const nameOf = (caller: Caller): string =>
  caller.kind === "node" ? caller.nodeId : caller.kind === "nobody" ? "" : caller.person.id;

/** Returns whether it took the request; what it did not take is as it was. */
export function createLargeWay({ hub, reader, onError }: LargeWay) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const path = largeCallOf(request);
    if (path === null) return false;
    const ctx = await createContext(hub, request, response);
    const getRawInput = async () => {
      const bytes = await bodyOf(request, LARGE_INPUTS.get(path)?.mostBytes ?? 0);
      return reader.read({ caller: nameOf(ctx.caller), path, bytes });
    };
    await answerMutation(response, { path, ctx, onError, getRawInput });
    return true;
  };
}
