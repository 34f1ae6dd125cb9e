import { lookup } from "node:dns/promises";
import { X509Certificate } from "node:crypto";
import { isIP, type Socket } from "node:net";
import { TLSSocket, type DetailedPeerCertificate } from "node:tls";
import { setTimeout } from "node:timers/promises";
import { Fault } from "#protocol/faults/fault.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { faultOfNetwork } from "#storage/answers/faults.ts";
import { network } from "#storage/network/network.ts";
import { connectProxy, openTunnel, readyEventOf, tunnelFault } from "#storage/network/tunnel.ts";
import {
  encryptInside,
  isAskedOfProxy,
  openSocket,
  originOf,
  type Origin,
  type TlsMemory,
} from "#worker/transfer/http/socket/open-socket.ts";
import { isLoopback } from "#worker/hub-link/hub-address.ts";
import { doubtful, failed, fine, type Finding } from "./finding.ts";

/** Checks the path from here to an address: name resolution, connection and TLS. */
export interface Way {
  /** `store` or `hub`: part of the names of the checks. */
  what: string;
  /** Address as the person gave it, http or https. */
  address: string;
  /** For tests: a certificate to trust beside the known ones. */
  ca?: string;
}

const LONGEST_MS = 8_000;
/** A certificate with less time left than this should have been renewed already. */
const DAY_MS = 86_400_000;
const LATE_MS = 7 * DAY_MS;

/** Resolves the name, then connects. Connects only when the name was resolved. */
export async function checkWay(way: Way, signal: AbortSignal): Promise<Finding[]> {
  const origin = originOf(new URL(way.address));
  if (origin.proxy !== null) {
    // The proxy resolves the name, so this machine need not be able to.
    const through = fine(`${way.what} proxy`, `${origin.key} is reached through ${origin.proxy.shown}`);
    return [through, await checkConnection(way, { origin, signal })];
  }
  const named = await checkName(way.what, { host: origin.host, signal });
  return named.outcome === "ok" ? [named, await checkConnection(way, { origin, signal })] : [named];
}

async function checkName(what: string, about: { host: string; signal: AbortSignal }): Promise<Finding> {
  const { host } = about;
  const check = `${what} name`;
  if (isIP(host) !== 0) return fine(check, `${host} is an address, there is nothing to look up`);
  try {
    const addresses = await within(lookup(host, { all: true }), { subject: host, signal: about.signal });
    return fine(check, `${host} is ${addresses.map(({ address }) => address).join(", ")}`);
  } catch (error) {
    const fault = faultOfNetwork(error, { op: "lookup", subject: host }).toData();
    const fix = `Check the spelling of ${host}, and the machine's DNS: getent hosts ${host}, /etc/resolv.conf.`;
    return failed(check, fault, fault.code === "NAME_NOT_RESOLVED" ? fix : undefined);
  }
}

async function checkConnection(way: Way, about: { origin: Origin; signal: AbortSignal }): Promise<Finding> {
  const { origin, signal } = about;
  const check = `${way.what} connection`;
  try {
    return judgeConnection(check, await connected({ origin, ca: way.ca, signal }));
  } catch (error) {
    const fault = faultOfNetwork(error, { op: "connect", subject: origin.key }).toData();
    if (fault.code === "TLS_FAILED" && UNKNOWN_AUTHORITY.has(fault.detail ?? "")) {
      const found = await readIssuer(origin, signal).catch(() => null);
      if (found !== null) return failed(check, { ...fault, detail: saysUnknown(found) }, FIX_UNKNOWN);
    }
    const finding = failed(check, fault, FIXES[fault.code]);
    // The faults of transfers name a store, so they are reworded for a hub.
    return { ...finding, says: finding.says.replace("the store", `the ${way.what}`) };
  }
}

const FIXES: Partial<Record<FaultCode, string>> = {
  LINK_DOWN: "Check the port, that the service runs, and that no firewall is between.",
  STALLED: "Nothing answers at this address and port: check both, and the firewalls between.",
  PROXY_LOGIN: "Write user and password into the proxy's URL: http://USER:PASSWORD@HOST:PORT.",
  TLS_FAILED:
    "Check that the address is that of the certificate and the clock is right; a certificate of your own is named by NODE_EXTRA_CA_CERTS=FILE.",
};

const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);
const saysUnknown = (issuer: string): string =>
  `its certificate was issued by "${issuer}", which is not trusted here: a proxy that opens TLS connections, or an authority of its own`;
const FIX_UNKNOWN =
  "Ask who runs the network, or the service, for the certificate of that authority and name it: --ca FILE, or NODE_EXTRA_CA_CERTS=FILE.";

interface Connection {
  origin: Origin;
  /** Null without TLS. */
  tls: { protocol: string; validUntilMs: number; privateIssuer?: string | null } | null;
}

async function connected(about: { origin: Origin; ca: string | undefined; signal: AbortSignal }): Promise<Connection> {
  const { origin, ca, signal } = about;
  const trusted = ca ?? network().authorities.forStore(null);
  const socket = await openWay(origin, { ca: () => trusted, pin: null, tickets: new Map() }, signal);
  try {
    return { origin, tls: tlsOf(socket) };
  } finally {
    socket.destroy();
  }
}

/** Opens a socket to the origin on the same path as transfers. Through a proxy, the proxy's answer suffices. */
async function openWay(origin: Origin, tls: TlsMemory, signal: AbortSignal): Promise<Socket> {
  const about = { subject: origin.key, signal };
  const { proxy } = origin;
  if (proxy === null) {
    const socket = openSocket(origin, { buffer: Buffer.alloc(1024), callback: () => true }, { tls });
    return within(readyOf(socket, origin.isTls ? "secureConnect" : "connect"), about);
  }
  if (isAskedOfProxy(origin)) {
    const ready = readyOf(connectProxy(proxy), readyEventOf(proxy)).catch((error: unknown) => {
      throw tunnelFault(proxy, error);
    });
    return within(ready, about);
  }
  const through = await within(openTunnel(proxy, origin, LONGEST_MS).open, about);
  if (!origin.isTls) return through;
  return within(readyOf(encryptInside(origin, through, tls), "secureConnect"), about);
}

const readyOf = (socket: Socket, event: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    socket.once("error", (error) => {
      socket.destroy();
      reject(error);
    });
    socket.once(event, () => resolve(socket));
  });

/**
 * Returns the issuer of an untrusted certificate. Sends no data over this connection: it serves only to name the
 * issuer.
 */
async function readIssuer(origin: Origin, signal: AbortSignal): Promise<string | null> {
  const plain = { ...origin, isTls: false };
  const { connect } = process.getBuiltinModule("node:tls");
  const raw =
    origin.proxy === null
      ? await openWay(plain, { ca: () => undefined, pin: null, tickets: new Map() }, signal)
      : await within(openTunnel(origin.proxy, origin, LONGEST_MS).open, { subject: origin.key, signal });
  const socket = connect({
    socket: raw,
    servername: isIP(origin.host) === 0 ? origin.host : "",
    rejectUnauthorized: false,
  });
  try {
    await within(readyOf(socket, "secureConnect"), { subject: origin.key, signal });
    return nameOf(socket.getPeerCertificate(true).issuer);
  } finally {
    socket.destroy();
  }
}

const nameOf = (issuer: Partial<Record<string, string | string[]>>): string => {
  const name = issuer["O"] ?? issuer["CN"] ?? "nobody";
  return visibleText(typeof name === "string" ? name : name.join(" "));
};

function tlsOf(socket: Socket): Connection["tls"] {
  if (!(socket instanceof TLSSocket)) return null;
  const certificate = socket.getPeerCertificate(true);
  const validUntilMs = Date.parse(certificate.valid_to);
  return { protocol: socket.getProtocol() ?? "TLS", validUntilMs, privateIssuer: privateIssuerOf(certificate) };
}

/** Returns the issuer when it is not a public authority, but one that this machine was configured to trust. */
function privateIssuerOf(leaf: DetailedPeerCertificate): string | null {
  let top = leaf;
  // An incomplete chain ends before the authority.
  for (let depth = 0; depth < 10 && top.issuerCertificate !== undefined && top.issuerCertificate !== top; depth++) {
    top = top.issuerCertificate;
  }
  const isPublic = process
    .getBuiltinModule("node:tls")
    .rootCertificates.some((pem) => new X509Certificate(pem).fingerprint256 === top.fingerprint256);
  return isPublic ? null : nameOf(leaf.issuer);
}

const PRIVATE =
  "which is no public authority: the service's own, or that of a proxy that opens TLS connections and reads what is sent";

/** Judges an open connection. Pure apart from the clock. */
export function judgeConnection(check: string, { origin, tls }: Connection, nowMs = Date.now()): Finding {
  if (tls === null) {
    if (isLoopback(origin.host)) return fine(check, `${origin.key} answers, on this machine`);
    return doubtful(check, {
      says: `${origin.key} answers, over plain http: whoever is on the way can read what is sent`,
      fix: "Use an https address unless you trust the network between.",
    });
  }
  const until = Number.isNaN(tls.validUntilMs)
    ? ""
    : `, its certificate until ${new Date(tls.validUntilMs).toISOString().slice(0, 10)}`;
  const { privateIssuer = null } = tls;
  const by = privateIssuer === null ? "" : `, issued by "${privateIssuer}", ${PRIVATE}`;
  const says = `${origin.key} answers with ${tls.protocol}${until}${by}`;
  if (!(tls.validUntilMs - nowMs < LATE_MS)) return fine(check, says);
  const days = Math.floor((tls.validUntilMs - nowMs) / DAY_MS);
  return doubtful(check, { says, fix: `Renew the certificate: it ends in ${days} ${days === 1 ? "day" : "days"}.` });
}

/** Ends the wait but not the work, because a DNS lookup cannot be cancelled. Faults: STALLED, CANCELLED. */
async function within<T>(work: Promise<T>, about: { subject: string; signal: AbortSignal }): Promise<T> {
  const { subject, signal } = about;
  const done = new AbortController();
  const late = setTimeout(LONGEST_MS, undefined, { signal: AbortSignal.any([done.signal, signal]), ref: false });
  try {
    return await Promise.race([
      work,
      late.then(
        () => Promise.reject(new Fault("STALLED", { subject })),
        () => Promise.reject(new Fault("CANCELLED", { subject })),
      ),
    ]);
  } finally {
    done.abort();
  }
}
