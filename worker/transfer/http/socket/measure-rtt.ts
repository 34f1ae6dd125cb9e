import { connect, type Socket } from "node:net";
import { connectProxy, openTunnel, readyEventOf } from "#storage/network/tunnel.ts";
import { isAskedOfProxy, type Origin } from "./open-socket.ts";

/** Returns the milliseconds of one handshake; null when it fails or takes longer than `mostMs`. */
export async function timeHandshake(origin: Origin, mostMs: number): Promise<number | null> {
  const { host, port, proxy } = origin;
  let startedAt = performance.now();
  const socket = proxy === null ? connect({ host, port, noDelay: true }) : null;
  // The look-up of the name is not part of the RTT.
  socket?.on("connectionAttempt", () => (startedAt = performance.now()));
  const isThere =
    socket === null ? await isThrough(origin, mostMs) : await isReady(socket, { event: "connect", mostMs });
  return isThere ? performance.now() - startedAt : null;
}

/** Returns whether the proxy reached the destination; for a proxy that takes whole requests, whether the proxy answers. */
async function isThrough(origin: Origin, mostMs: number): Promise<boolean> {
  const { proxy } = origin;
  if (proxy === null) return false;
  if (isAskedOfProxy(origin)) return isReady(connectProxy(proxy), { event: readyEventOf(proxy), mostMs });
  const tunnel = openTunnel(proxy, origin, mostMs);
  tunnel.socket.unref();
  return tunnel.open.then(
    (socket) => {
      socket.destroy();
      return true;
    },
    () => false,
  );
}

const isReady = (socket: Socket, { event, mostMs }: { event: string; mostMs: number }): Promise<boolean> =>
  new Promise((resolve) => {
    const end = (answer: boolean) => {
      resolve(answer);
      socket.destroy();
    };
    socket
      .unref()
      .setTimeout(mostMs)
      .once(event, () => end(true))
      .once("timeout", () => end(false))
      .once("error", () => end(false));
  });

/** Returns the median of `tries` handshakes, one after the other, ms; null when one fails or takes longer than `mostMs`. */
export async function measureRtt(
  origin: Origin,
  { mostMs, tries }: { mostMs: number; tries: number },
): Promise<number | null> {
  const rttEstimator: number[] = [];
  while (rttEstimator.length < tries) {
    const tookMs = await timeHandshake(origin, mostMs);
    if (tookMs === null) return null;
    rttEstimator.push(tookMs);
  }
  return rttEstimator.sort((a, b) => a - b)[Math.floor(tries / 2)] ?? null;
}
