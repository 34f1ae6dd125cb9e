import { timeHandshake } from "../transfer/http/socket/measure-rtt.ts";
import { originOf } from "../transfer/http/socket/open-socket.ts";

/**
 * Measures one TCP handshake with a store, in ms: the delay that any new connection on this link has. Through a proxy it is
 * the time until the proxy has connected. It uses a new connection, because busy ones also show their own send queue. The
 * connection is closed at once and does not keep the process alive. Null when there was no answer in time.
 */
export type RttProbe = (endpoint: string) => Promise<number | null>;

const GIVE_UP_MS = 3_000;

/** Measures a handshake, see `RttProbe`. Never throws: null for an address that cannot be reached. */
export const probeRtt: RttProbe = async (endpoint) =>
  URL.canParse(endpoint) ? timeHandshake(originOf(new URL(endpoint)), GIVE_UP_MS) : null;
