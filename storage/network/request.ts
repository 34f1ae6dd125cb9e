import { type ClientRequest, type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestOverTls } from "node:https";
import { Fault } from "#protocol/faults/fault.ts";
import type { createAgents } from "./agents.ts";

/** The agents that connect requests. This module has the two halves of a `fetch` over `node:http`. */
export type Agents = ReturnType<typeof createAgents>;

/** Starts a request with plain headers; `endRequest` gives it its body. */
export function beginRequest(url: URL, init: RequestInit, { httpAgent, httpsAgent }: Agents): ClientRequest {
  const { signal } = init;
  const isTls = url.protocol === "https:";
  return (isTls ? requestOverTls : requestPlain)(url, {
    method: init.method ?? "GET",
    headers: Object.fromEntries(new Headers(init.headers).entries()),
    agent: isTls ? httpsAgent : httpAgent,
    ...(signal !== undefined && signal !== null && { signal }),
  });
}

/** Sends the body, of text or bytes, and ends the request. */
export const endRequest = (sent: ClientRequest, { body }: RequestInit): void =>
  void sent.end(typeof body === "string" || body instanceof Uint8Array ? body : undefined);

const isEmpty = (status: number): boolean => status === 204 || status === 205 || status === 304;

/**
 * Returns the status and headers of an answer for a `Response`, and whether its status says that it has no body.
 * @throws Fault UNEXPECTED_ANSWER for a status that no `Response` can have
 */
export function headOf(message: IncomingMessage): { isEmpty: boolean; init: ResponseInit } {
  const status = message.statusCode ?? 0;
  if (status < 200 || status > 599) throw new Fault("UNEXPECTED_ANSWER", { status });
  const headers = Object.entries(message.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  return { isEmpty: isEmpty(status), init: { status, headers } };
}
