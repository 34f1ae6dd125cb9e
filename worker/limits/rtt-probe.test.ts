import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { expect, test } from "vitest";
import { probeRtt } from "./rtt-probe.ts";

test("a handshake is timed and the connection is gone at once", async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  const { port } = server.address() as AddressInfo;
  const startedAt = performance.now();
  const ms = await probeRtt(`http://127.0.0.1:${port}`);
  expect(ms).toBeGreaterThan(0);
  expect(ms).toBeLessThanOrEqual(performance.now() - startedAt);
  await accepted;
  const [socket] = sockets;
  if (socket !== undefined && !socket.destroyed) await once(socket, "close");
  expect(socket?.bytesRead).toBe(0);
  server.close();
});

test("nobody there is no answer", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  expect(await probeRtt(`http://127.0.0.1:${port}`)).toBeNull();
  expect(await probeRtt("not an address")).toBeNull();
});
