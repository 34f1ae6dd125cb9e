import { lookup } from "node:dns/promises";
import { isIP, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { setTimeout } from "node:timers/promises";
import { Fault } from "#protocol/fault.ts";
import type { FaultCode } from "#protocol/fault-table.ts";
import { faultOfNetwork } from "#storage/faults.ts";
import { openSocket, originOf, type Origin } from "../engine/http/open-socket.ts";
import { isLoopback } from "../link/hub-address.ts";
import { doubtful, failed, fine, type Finding } from "./finding.ts";

/** From here to an address: its name, the connection, and what TLS says of it. */
export interface Way {
  /** `store` or `hub`: the checks are called after it. */
  what: string;
  /** As it was given, http or https. */
  address: string;
  /** For tests: a certificate to trust beside the known ones. */
  ca?: string;
}

const LONGEST_MS = 8_000;
/** Renewal is late when there is less time than this. */
const DAY_MS = 86_400_000;
const LATE_MS = 7 * DAY_MS;

/** Looks the name up, then connects. The second is only tried when the first succeeded. */
export async function checkWay(way: Way, signal: AbortSignal): Promise<Finding[]> {
  const origin = originOf(new URL(way.address));
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
    const finding = failed(check, fault, FIXES[fault.code]);
    // Transfers, whose words these are, speak to stores only.
    return { ...finding, says: finding.says.replace("the store", `the ${way.what}`) };
  }
}

const FIXES: Partial<Record<FaultCode, string>> = {
  LINK_DOWN: "Check the port, that the service runs, and that no firewall is between.",
  STALLED: "Nothing answers at this address and port: check both, and the firewalls between.",
  TLS_FAILED:
    "Check that the address is that of the certificate and the clock is right; a certificate of your own is named by NODE_EXTRA_CA_CERTS=FILE.",
};

interface Connection {
  origin: Origin;
  /** Null without TLS. */
  tls: { protocol: string; validUntilMs: number } | null;
}

function connected(about: { origin: Origin; ca: string | undefined; signal: AbortSignal }): Promise<Connection> {
  const { origin } = about;
  const socket = openSocket(origin, { buffer: Buffer.alloc(1024), callback: () => true }, { tls: trust(about.ca) });
  const ready = new Promise<Connection>((resolve, reject) => {
    socket.once("error", reject);
    socket.once(origin.isTls ? "secureConnect" : "connect", () => resolve({ origin, tls: tlsOf(socket) }));
  });
  return within(ready, { subject: origin.key, signal: about.signal }).finally(() => socket.destroy());
}

const trust = (ca: string | undefined) => ({ ca: () => ca, pin: null, tickets: new Map<string, Buffer>() });

function tlsOf(socket: Socket): Connection["tls"] {
  if (!(socket instanceof TLSSocket)) return null;
  const validUntilMs = Date.parse(socket.getPeerCertificate().valid_to);
  return { protocol: socket.getProtocol() ?? "TLS", validUntilMs };
}

/** Pure but for the clock: what a connection that stands means. */
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
  const says = `${origin.key} answers with ${tls.protocol}${until}`;
  if (!(tls.validUntilMs - nowMs < LATE_MS)) return fine(check, says);
  const days = Math.floor((tls.validUntilMs - nowMs) / DAY_MS);
  return doubtful(check, { says, fix: `Renew the certificate: it ends in ${days} ${days === 1 ? "day" : "days"}.` });
}

/** Ends the waiting, not the work: a lookup cannot be called back. Faults: STALLED, CANCELLED. */
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
