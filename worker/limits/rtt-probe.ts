import { connect } from "node:net";

/**
 * The time of one TCP handshake with a store, ms: what everybody on this link waits before anything begins. A connection
 * of its own, because those that carry bytes only show their own queue. It is closed at once and never keeps the process.
 * Null when there was no answer in time.
 */
export type RttProbe = (endpoint: string) => Promise<number | null>;

const GIVE_UP_MS = 3_000;

/** @see RttProbe. No faults: an address that cannot be reached is no answer. */
export const probeRtt: RttProbe = async (endpoint) => {
  const place = placeOf(endpoint);
  if (place === null) return null;
  return new Promise((resolve) => {
    let startedAt = performance.now();
    const socket = connect({ ...place, timeout: GIVE_UP_MS, noDelay: true });
    const end = (ms: number | null) => {
      socket.destroy();
      resolve(ms);
    };
    socket.unref();
    // Looking up the name is not the link.
    socket.once("connectionAttempt", () => {
      startedAt = performance.now();
    });
    socket.once("connect", () => end(performance.now() - startedAt));
    socket.once("timeout", () => end(null));
    socket.once("error", () => end(null));
  });
};

function placeOf(endpoint: string): { host: string; port: number } | null {
  if (!URL.canParse(endpoint)) return null;
  const { hostname, port, protocol } = new URL(endpoint);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return { host, port: port === "" ? (protocol === "http:" ? 80 : 443) : Number(port) };
}
