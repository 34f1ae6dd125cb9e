import { timeHandshake } from "../transfer/http/socket/measure-rtt.ts";
import { originOf } from "../transfer/http/socket/open-socket.ts";

/**
 * The time of one TCP handshake with a store, ms: what everybody on this link waits before anything begins. Through a proxy it is the
 * time until the proxy has made its connection. A connection of its own, because those that carry bytes only show their own queue. It
 * is closed at once and never keeps the process. Null when there was no answer in time.
 */
export type RttProbe = (endpoint: string) => Promise<number | null>;

const GIVE_UP_MS = 3_000;

/** @see RttProbe. No faults: an address that cannot be reached is no answer. */
export const probeRtt: RttProbe = async (endpoint) =>
  URL.canParse(endpoint) ? timeHandshake(originOf(new URL(endpoint)), GIVE_UP_MS) : null;
