import type { IncomingMessage, ServerResponse } from "node:http";
import { getTRPCErrorShape } from "@trpc/server";
import { Fault } from "#protocol/faults/fault.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { hubRouter } from "../router.ts";
import { trpcError } from "#server/core/api/trpc-error.ts";

/** How long the rest of the body is read and discarded: cutting the connection at once could lose the answer. */
const LINGER_MS = 2_000;

/**
 * Refuses a call whose Content-Length exceeds `mostBytes`, before any of the body is read. Returns whether it did. A body
 * without a length is counted while it is read.
 */
export function refuseLongBody(
  request: IncomingMessage,
  response: ServerResponse,
  { path, mostBytes }: { path: string; mostBytes: number },
): boolean {
  if (!(Number(request.headers["content-length"] ?? 0) > mostBytes)) return false;
  const fault = new Fault("TOO_LARGE", { detail: `this call takes ${mostBytes} bytes at most` });
  const error = trpcError(fault);
  const about = { config: hubRouter._def._config, ctx: undefined, input: undefined, type: "unknown" as const };
  const text = JSON.stringify({ error: getTRPCErrorShape({ ...about, path, error }) });
  response.writeHead(FAULTS.TOO_LARGE.http, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(text);
  request.resume();
  const cut = setTimeout(() => request.destroy(), LINGER_MS);
  request.on("close", () => clearTimeout(cut));
  return true;
}
