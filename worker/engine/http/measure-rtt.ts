import { connect } from "node:net";
import type { Origin } from "./open-socket.ts";

/** The middle of `tries` TCP handshakes, one after the other, ms; null when one of them fails or takes longer than `mostMs`. */
export async function measureRtt(
  { host, port }: Pick<Origin, "host" | "port">,
  { mostMs, tries }: { mostMs: number; tries: number },
): Promise<number | null> {
  const trips: number[] = [];
  while (trips.length < tries) {
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
  return trips.sort((a, b) => a - b)[Math.floor(tries / 2)] ?? null;
}
