import { signHeaders, type Credential } from "./sigv4.ts";

/**
 * Signs control requests inside the process that holds the key. A separate file without the SDK, because that process
 * loads no module that talks to a network.
 */

/** A control request as plain data, so that it can be sent to the process that holds the key. */
export interface ControlRequest {
  method: string;
  /** Complete URL with its encoded query. */
  url: string;
  headers: Record<string, string>;
  /** SHA-256 of the body in hex, or `UNSIGNED-PAYLOAD`. */
  payloadHash: string;
}

/** Returns the request with its signature headers added. */
export interface ControlSigner {
  sign(request: ControlRequest): Promise<ControlRequest>;
}

/** Headers signed besides every `x-amz-` header, which S3 requires. Proxies may change the other headers on the way. */
const SIGNED_HEADERS: ReadonlySet<string> = new Set([
  "content-length",
  "content-md5",
  "content-type",
  "if-match",
  "if-none-match",
]);
const isSigned = (name: string): boolean => SIGNED_HEADERS.has(name) || name.startsWith("x-amz-");

function splitUrl(url: string): { origin: string; path: string; query: [string, string][] } {
  const mark = url.indexOf("?");
  const bare = mark === -1 ? url : url.slice(0, mark);
  const slash = bare.indexOf("/", bare.indexOf("//") + 2);
  const pairs = mark === -1 ? [] : url.slice(mark + 1).split("&");
  const query = pairs.map((pair): [string, string] => {
    const equals = pair.indexOf("=");
    const [name, value] = equals === -1 ? [pair, ""] : [pair.slice(0, equals), pair.slice(equals + 1)];
    return [decodeURIComponent(name), decodeURIComponent(value)];
  });
  return {
    origin: slash === -1 ? bare : bare.slice(0, slash),
    path: slash === -1 ? "/" : bare.slice(slash),
    query,
  };
}

/** Signs a control request with the given key. Pure. */
export function signControlRequest(
  request: ControlRequest,
  scope: { credential: Credential; region: string; nowMs: number },
): ControlRequest {
  const chosen = Object.entries(request.headers)
    .map(([name, value]): [string, string] => [name.toLowerCase(), value])
    .filter(([name]) => isSigned(name));
  const signed = signHeaders(
    { method: request.method, ...splitUrl(request.url), headers: Object.fromEntries(chosen) },
    { ...scope, payloadHash: request.payloadHash },
  );
  return { ...request, headers: { ...request.headers, ...signed } };
}
