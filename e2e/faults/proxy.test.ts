import { connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FaultProxy, startProxy } from "./proxy.ts";

const ANSWER = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));
let server: Server;
let proxy: FaultProxy;
let received: Buffer[];

beforeEach(async () => {
  received = [];
  // Answers the first byte it gets with all of ANSWER, and closes when the client does.
  server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => received.push(chunk));
    socket.once("data", () => socket.write(ANSWER));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  proxy = await startProxy({ target: typeof address === "object" && address !== null ? address.port : 0, seed: 7 });
});
afterEach(async () => {
  await proxy.close();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

interface Client {
  socket: Socket;
  bytes: () => Buffer;
  over: Promise<"reset" | "closed">;
}

function open(): Client {
  const chunks: Buffer[] = [];
  const socket = connect(proxy.port, "127.0.0.1");
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  const over = new Promise<"reset" | "closed">((resolve) => {
    socket.on("error", () => resolve("reset"));
    socket.on("end", () => resolve("closed"));
  });
  socket.write("x");
  return { socket, bytes: () => Buffer.concat(chunks), over };
}

const whole = (client: Client) => expect.poll(() => client.bytes().length).toBe(ANSWER.length);

test("carries every byte both ways when nothing is armed", async () => {
  const client = open();
  await whole(client);
  expect(client.bytes().equals(ANSWER)).toBe(true);
  expect(Buffer.concat(received).toString()).toBe("x");
  expect(proxy.seen()).toMatchObject({ connections: 1, upBytes: 1, downBytes: ANSWER.length, hits: 0 });
  client.socket.destroy();
});

test("resets a connection after so many bytes, and only as often as it was told", async () => {
  proxy.arm({ direction: "down", times: 1, toxic: { kind: "reset-peer", afterBytes: 5_000 } });
  const first = open();
  expect(await first.over).toBe("reset");
  expect(first.bytes().length).toBeLessThanOrEqual(5_000);
  const second = open();
  await whole(second);
  expect(proxy.seen().hits).toBe(1);
  second.socket.destroy();
});

test("closes a connection early as if all were said", async () => {
  proxy.arm({ direction: "down", toxic: { kind: "limit-data", afterBytes: 5_000 } });
  const client = open();
  expect(await client.over).toBe("closed");
  expect(client.bytes().length).toBe(5_000);
});

test("inverts one byte and no other", async () => {
  proxy.arm({ direction: "down", toxic: { kind: "flip", afterBytes: 77_777 } });
  const client = open();
  await whole(client);
  const wrong = [...client.bytes().entries()].filter(([at, byte]) => byte !== ANSWER[at]).map(([at]) => at);
  expect(wrong).toEqual([77_777]);
  client.socket.destroy();
});

test("lets bytes vanish in silence until it is lifted, and loses none", async () => {
  const lift = proxy.arm({ direction: "down", toxic: { kind: "blackhole", afterBytes: 1_000 } });
  const client = open();
  await expect.poll(() => proxy.seen().hits).toBe(1);
  await expect.poll(() => client.bytes().length).toBe(1_000);
  lift();
  await whole(client);
  expect(client.bytes().equals(ANSWER)).toBe(true);
  client.socket.destroy();
});

test("cuts into small pieces, delays and slows without changing a byte", async () => {
  proxy.arm({ direction: "down", toxic: { kind: "latency", ms: 5, jitterMs: 5 } });
  proxy.arm({ direction: "down", toxic: { kind: "slicer", pieceBytes: 1_000, delayMs: 0 } });
  proxy.arm({ direction: "down", toxic: { kind: "bandwidth", bytesPerSecond: 1_000_000 } });
  const client = open();
  await whole(client);
  expect(client.bytes().equals(ANSWER)).toBe(true);
  client.socket.destroy();
});

test("refuses connections while it is down, resets those that were open, and comes back on the same port", async () => {
  const before = open();
  await whole(before);
  await proxy.down();
  expect(await before.over).toBe("reset");
  expect(await open().over).toBe("reset");
  await proxy.up();
  const after = open();
  await whole(after);
  after.socket.destroy();
});

test("hits the same connections again with the same seed", async () => {
  const hitsOf = async (seed: number): Promise<string[]> => {
    await proxy.restart(seed);
    proxy.arm({ direction: "down", share: 0.5, toxic: { kind: "limit-data", afterBytes: 10 } });
    const ends: string[] = [];
    for (let count = 0; count < 8; count++) {
      const client = open();
      const end = await Promise.race([client.over, whole(client).then(() => "whole")]);
      ends.push(end);
      client.socket.destroy();
    }
    return ends;
  };
  const first = await hitsOf(3);
  expect(first).toContain("closed");
  expect(first).toContain("whole");
  expect(await hitsOf(3)).toEqual(first);
});
