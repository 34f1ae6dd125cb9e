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

/** Where connections lead: scheme, host and port of a URL. */
export interface Origin {
  /** As `URL.origin` writes it. */
  key: string;
  isTls: boolean;
  host: string;
  port: number;
  /** What leads there; null: nothing is between. */
  proxy: Proxy | null;
}

/** Why no connection stands after so many seconds. */
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

/** Whether requests go to the proxy as a whole: most HTTP proxies make connections to port 443 only. */
export const isAskedOfProxy = ({ isTls, proxy }: Origin): boolean =>
  !isTls && proxy !== null && proxy.kind !== "socks5";

/** A URL as a request says it: to where, and what for. */
export interface Target {
  origin: Origin;
  /** Of the header: with the port where it is not the usual one. */
  host: string;
  /** Path and query; for a proxy that is asked with the whole URL before them. */
  path: string;
  /** Lines of the head for a proxy, each with its end. */
  proxyLines: string;
}

/** What needs no reading to be a path and a query: the characters of a signed request, and no segment of dots. */
const PLAIN = /^\/(?!\.)(?:[\w~%?&=-]|\/(?!\.)|(?<!\/)\.)*$/;
const CODED_DOT = /%2e/i;

/** Reads URLs. Nearly all that one wire sees begin like the one before, and to read one costs as much as to sign it. */
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

/** What TLS connections of one wire share: what they trust, and a ticket for each origin to resume with. */
export interface TlsMemory {
  /** Certificates to trust in place of the usual ones, PEM. Asked when the first connection is made. */
  ca: () => string | undefined;
  /** See pin.ts; null: any key that an authority has signed. */
  pin: string | null;
  tickets: Map<string, Buffer>;
  /** Read once: a hundred certificates take a millisecond each connection. */
  context?: SecureContext | undefined;
}

/** How a connection is opened beside where it leads. */
export interface Opening {
  tls: TlsMemory;
  /** Chooses among the addresses of its name. Left out: in the order of the system. */
  attempt?: Attempt | null;
  /** How long each address has before the next one is tried: a few round trips. The last one is not given up here. */
  attemptMs?: number;
}

const LEAST_ATTEMPT_MS = 250;
const MOST_ATTEMPT_MS = 2_000;

/**
 * Starts to connect, to the origin itself. Bytes go through `onread` into our own buffers. The socket is ready at `connect`, with TLS
 * at `secureConnect`. Addresses of both families are tried in turn, as Node does.
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

/** Starts to connect to a proxy that is not encrypted. */
export const openToProxy = ({ host, port }: Proxy, onread: OnReadOpts): Socket =>
  openPlain({ host, port, onread, autoSelectFamily: true });

const openPlain = (options: TcpNetConnectOpts): Socket =>
  connectTcp({ ...options, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 });

/** Encrypts for `origin` what goes over a connection that leads there already. */
export const encryptInside = (origin: Origin, socket: Socket, tls: TlsMemory): TLSSocket =>
  encrypt(origin, { socket, host: origin.host }, tls);

function encrypt({ host, key }: Origin, over: ConnectionOptions | TcpNetConnectOpts, tls: TlsMemory): TLSSocket {
  const session = tls.tickets.get(key);
  // Not imported: with the system's certificates it takes as long to load as half of all other modules.
  const { connect, createSecureContext, DEFAULT_CIPHERS } = process.getBuiltinModule("node:tls");
  const ciphers = preferAes128(DEFAULT_CIPHERS);
  network().authorities.prepare();
  const ca = tls.ca();
  if (ca !== undefined) tls.context ??= createSecureContext({ ca, ciphers });
  const socket = connect({
    ...over,
    ALPNProtocols: ["http/1.1"],
    ciphers,
    // An address is no name: none is sent then.
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
