import { connect } from "node:net";
import type { Origin } from "./open-socket.ts";

const TRIES = 3;

/** The middle of three TCP handshakes, one after the other, ms; null when one of them fails or takes longer than `mostMs`. */
export async function measureRtt(
  { host, port }: Pick<Origin, "host" | "port">,
  mostMs: number,
): Promise<number | null> {
  const trips: number[] = [];
  while (trips.length < TRIES) {
    const startedAt = performance.now();
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect({ host, port, timeout: mostMs }).unref();
      const end = (answer: boolean) => {
        resolve(answer);
        socket.destroy();
      };
      socket
        .once("connect", () => end(true))
        .once("timeout", () => end(false))
        .once("error", () => end(false));
    });
    if (!isThere) return null;
    trips.push(performance.now() - startedAt);
  }
  return trips.sort((a, b) => a - b)[1] ?? null;
}
