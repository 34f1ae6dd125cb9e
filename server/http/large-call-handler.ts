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
import { readBody } from "./read-body.ts";

/**
 * Answers calls with bodies too large to be parsed in this thread: a worker thread parses them, after their senders were
 * identified.
 */

interface LargeCalls {
  hub: Hub;
  reader: InputReader;
  onError: Refused;
}

/** Returns the procedure of a single large call; null for any other request. A body without a Content-Length may be large. */
function largeCallOf({ method, url = "", headers }: IncomingMessage): string | null {
  const path = url.startsWith(API_PATH) ? url.slice(API_PATH.length) : "";
  if (method !== "POST" || !LARGE_INPUTS.has(path)) return null;
  const { "content-length": length } = headers;
  return length === undefined || Number(length) > PARSED_HERE_BYTES ? path : null;
}

const nameOf = (caller: Caller): string =>
  caller.kind === "node" ? caller.nodeId : caller.kind === "nobody" ? "" : caller.person.id;

/** Returns a handler that tells whether it took the request; a request that it did not take is untouched. */
export function createLargeCallHandler({ hub, reader, onError }: LargeCalls) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const path = largeCallOf(request);
    if (path === null) return false;
    const ctx = await createContext(hub, request, response);
    const getRawInput = async () => {
      const bytes = await readBody(request, LARGE_INPUTS.get(path)?.mostBytes ?? 0, () =>
        trpcError(new Fault("TOO_LARGE")),
      );
      return reader.read({ caller: nameOf(ctx.caller), path, bytes });
    };
    await answerMutation(response, { path, ctx, onError, getRawInput });
    return true;
  };
}
