import { connect as connectTcp, isIP, type OnReadOpts, type Socket, type TcpNetConnectOpts } from "node:net";
import type { ConnectionOptions, SecureContext, TLSSocket } from "node:tls";
import { Fault } from "#protocol/faults/fault.ts";
import { network } from "#storage/network/network.ts";
import { pinnedIdentity } from "#storage/network/pin.ts";
import { authorizationOf, type Proxy } from "#storage/network/proxy.ts";
import { pinHost } from "#storage/network/pinned-lookup.ts";
import type { Attempt } from "./addresses.ts";
import { preferAes128 } from "../tls/prefer-aes-128.ts";
import { whyRefused } from "./why-refused.ts";

/** Destination of connections: scheme, host and port of a URL. */
export interface Origin {
  /** As `URL.origin` writes it. */
  key: string;
  isTls: boolean;
  host: string;
  port: number;
  /** Proxy on the way; null: none. */
  proxy: Proxy | null;
}

/** Returns why no connection was established within this many seconds. */
export function notConnected({ proxy }: Origin, seconds: number): Fault {
  if (proxy !== null) return new Fault("PROXY_FAILED", { detail: `${proxy.shown}: no answer for ${seconds} s` });
  return new Fault("LINK_DOWN", { detail: `no connection within ${seconds} s` });
}

export function originOf(url: URL): Origin {
  const isTls = url.protocol === "https:";
  // Without the brackets of an IPv6 address.
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  return { key: url.origin, isTls, host, port, proxy: network().proxyFor?.({ host, port, isTls }) ?? null };
}

/**
 * Returns whether whole requests go to the proxy instead of through a tunnel: most HTTP proxies make tunnels to port 443
 * only.
 */
export const isAskedOfProxy = ({ isTls, proxy }: Origin): boolean =>
  !isTls && proxy !== null && proxy.kind !== "socks5";

/** A URL as a request needs it: destination and path. */
export interface Target {
  origin: Origin;
  /** Value of the Host header: with the port where it is not the default one. */
  host: string;
  /** Path and query; for a proxy that takes whole requests, the whole URL. */
  path: string;
  /** Lines of the head for a proxy, each with its line end. */
  proxyLines: string;
}

/** Paths that need no URL parser: only characters of a signed request, and no dot segments. */
const PLAIN = /^\/(?!\.)(?:[\w~%?&=-]|\/(?!\.)|(?<!\/)\.)*$/;
const CODED_DOT = /%2e/i;

/**
 * Returns a parser of URLs. Nearly all URLs of one client have the same origin, and parsing one costs as much as signing it,
 * so the last origin is reused.
 */
export function createTargets(): (url: string) => Target {
  let last: { start: string; before: string; common: Omit<Target, "path"> } | null = null;
  return (text) => {
    if (last !== null && text.startsWith(last.start)) {
      const path = text.slice(last.start.length);
      if (PLAIN.test(path) && !CODED_DOT.test(path)) return { ...last.common, path: last.before + path };
    }
    const url = new URL(text);
    const origin = originOf(url);
    const before = isAskedOfProxy(origin) ? url.origin : "";
    last = { start: url.origin, before, common: { origin, host: url.host, proxyLines: proxyLinesOf(origin) } };
    return { ...last.common, path: before + url.pathname + url.search };
  };
}

function proxyLinesOf(origin: Origin): string {
  const authorization = origin.proxy !== null && isAskedOfProxy(origin) ? authorizationOf(origin.proxy) : null;
  return authorization === null ? "" : `proxy-authorization: ${authorization}\r\n`;
}

/** State that TLS connections of one client share: certificates to trust, and a session ticket of each origin. */
export interface TlsMemory {
  /** Returns the certificates to trust in place of the usual ones, PEM. Called when the first connection is made. */
  ca: () => string | undefined;
  /** Pinned key, see pin.ts; null: any key that an authority has signed. */
  pin: string | null;
  tickets: Map<string, Buffer>;
  /** Created once: reading a hundred certificates takes a millisecond for each connection. */
  context?: SecureContext | undefined;
}

/** Options of opening a connection. */
export interface Opening {
  tls: TlsMemory;
  /** Chooses among the addresses of the name. Default: the order of the system. */
  attempt?: Attempt | null;
  /** Time that each address has before the next one is tried: a few round trips. The last address has no such limit. */
  attemptMs?: number;
}

const LEAST_ATTEMPT_MS = 250;
const MOST_ATTEMPT_MS = 2_000;

/**
 * Starts to connect to the origin itself. Received bytes go through `onread` into our own buffers. The socket is ready at
 * `connect`, with TLS at `secureConnect`. Addresses of both families are tried in turn, as Node does.
 */
export function openSocket(
  origin: Origin,
  onread: OnReadOpts,
  { tls, attempt = null, attemptMs = LEAST_ATTEMPT_MS }: Opening,
): Socket | TLSSocket {
  const { host, port } = origin;
  const place = attempt === null ? pinHost(host, whyRefused) : { host, lookup: attempt.lookup };
  // Node takes whole numbers only.
  const autoSelectFamilyAttemptTimeout = Math.round(Math.min(MOST_ATTEMPT_MS, Math.max(LEAST_ATTEMPT_MS, attemptMs)));
  const common = { ...place, port, onread, autoSelectFamily: true, autoSelectFamilyAttemptTimeout };
  return origin.isTls ? encrypt(origin, common, tls) : openPlain(common);
}

/** Starts to connect to a proxy without TLS. */
export const openToProxy = ({ host, port }: Proxy, onread: OnReadOpts): Socket =>
  openPlain({ host, port, onread, autoSelectFamily: true });

const openPlain = (options: TcpNetConnectOpts): Socket =>
  connectTcp({ ...options, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 });

/** Encrypts a connection that leads to `origin` already. */
export const encryptInside = (origin: Origin, socket: Socket, tls: TlsMemory): TLSSocket =>
  encrypt(origin, { socket, host: origin.host }, tls);

function encrypt({ host, key }: Origin, over: ConnectionOptions | TcpNetConnectOpts, tls: TlsMemory): TLSSocket {
  const session = tls.tickets.get(key);
  // Loaded lazily: with the system's certificates `node:tls` takes as long to load as half of all other modules.
  const { connect, createSecureContext, DEFAULT_CIPHERS } = process.getBuiltinModule("node:tls");
  const ciphers = preferAes128(DEFAULT_CIPHERS);
  network().authorities.prepare();
  const ca = tls.ca();
  if (ca !== undefined) tls.context ??= createSecureContext({ ca, ciphers });
  const socket = connect({
    ...over,
    ALPNProtocols: ["http/1.1"],
    ciphers,
    // SNI carries names only, so none is sent for an IP address.
    servername: isIP(host) === 0 ? host : "",
    ...(session !== undefined && { session }),
    ...(tls.context !== undefined && { secureContext: tls.context }),
    ...(tls.pin !== null && {
      checkServerIdentity: (_name, certificate) => pinnedIdentity(tls.pin ?? "")(host, certificate),
    }),
  });
  socket.setNoDelay(true);
  socket.setKeepAlive(true, 30_000);
  socket.on("session", (ticket) => tls.tickets.set(key, ticket));
  return socket;
}
