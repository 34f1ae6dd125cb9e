import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { classOf } from "#storage/address-rules.ts";
import { pinHost } from "#storage/pinned-lookup.ts";
import { preferAes128 } from "./prefer-aes-128.ts";

/** Where connections lead: scheme, host and port of a URL. */
export interface Origin {
  /** As `URL.origin` writes it. */
  key: string;
  isTls: boolean;
  host: string;
  port: number;
}

export function originOf(url: URL): Origin {
  const isTls = url.protocol === "https:";
  return {
    key: url.origin,
    isTls,
    // Without the brackets of an IPv6 address.
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
  };
}

/** A URL as a request says it: to where, and what for. */
export interface Target {
  origin: Origin;
  /** Of the header: with the port where it is not the usual one. */
  host: string;
  /** Path and query. */
  path: string;
}

/** What needs no reading to be a path and a query: the characters of a signed request, and no segment of dots. */
const PLAIN = /^\/(?!\.)(?:[\w~%?&=-]|\/(?!\.)|(?<!\/)\.)*$/;
const CODED_DOT = /%2e/i;

/** Reads URLs. Nearly all that one wire sees begin like the one before, and to read one costs as much as to sign it. */
export function createTargets(): (url: string) => Target {
  let last: { start: string; origin: Origin; host: string } | null = null;
  return (text) => {
    if (last !== null && text.startsWith(last.start)) {
      const path = text.slice(last.start.length);
      if (PLAIN.test(path) && !CODED_DOT.test(path)) return { origin: last.origin, host: last.host, path };
    }
    const url = new URL(text);
    const origin = originOf(url);
    last = { start: url.origin, origin, host: url.host };
    return { origin, host: url.host, path: url.pathname + url.search };
  };
}

/** What TLS connections of one wire share: further certificates to trust, and a ticket for each origin to resume with. */
export interface TlsMemory {
  ca: string | undefined;
  tickets: Map<string, Buffer>;
}

/** Addresses come from a hub, too: none of them leads a node to the metadata service of its own cloud. */
const whyRefused = (address: string): string | null =>
  classOf(address) === "never" ? "link-local, metadata and multicast addresses are never allowed" : null;

/**
 * Starts to connect. Bytes go through `onread` into our own buffers. The socket is ready at `connect`, with TLS at
 * `secureConnect`. Addresses of both families are tried in turn, as Node does.
 */
export function openSocket(origin: Origin, onread: OnReadOpts, tls: TlsMemory): Socket | TLSSocket {
  const { host, port, key } = origin;
  const common = { ...pinHost(host, whyRefused), port, onread, autoSelectFamily: true };
  if (!origin.isTls) {
    const socket = connectTcp({ ...common, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 });
    return socket;
  }
  const session = tls.tickets.get(key);
  // Not imported: with the system's certificates it takes as long to load as half of all other modules.
  const { connect, DEFAULT_CIPHERS } = process.getBuiltinModule("node:tls");
  const socket = connect({
    ...common,
    ALPNProtocols: ["http/1.1"],
    ciphers: preferAes128(DEFAULT_CIPHERS),
    // An address is no name: none is sent then.
    servername: isIP(host) === 0 ? host : "",
    ...(session !== undefined && { session }),
    ...(tls.ca !== undefined && { ca: tls.ca }),
  });
  socket.setNoDelay(true);
  socket.setKeepAlive(true, 30_000);
  socket.on("session", (ticket) => tls.tickets.set(key, ticket));
  return socket;
}
