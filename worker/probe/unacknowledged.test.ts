import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { readUnacknowledged } from "./unacknowledged.ts";

test.runIf(process.platform === "linux")(
  "bytes that a connection holds back are counted until they are taken",
  async () => {
    const held = Promise.withResolvers<void>();
    const server = createServer((socket) => {
      socket.pause();
      void held.promise.then(() => socket.resume());
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const before = readUnacknowledged() ?? 0;
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    await once(socket, "connect");
    socket.write(Buffer.alloc(32 * 1024 * 1024));
    // What neither buffer of the kernel has room for waits.
    await expect.poll(() => (readUnacknowledged() ?? 0) - before).toBeGreaterThan(10_000);
    held.resolve();
    await expect.poll(() => (readUnacknowledged() ?? 0) - before).toBeLessThanOrEqual(0);
    socket.destroy();
    server.close();
  },
);

test("where the system does not tell, nobody guesses", () => {
  expect(readUnacknowledged("/nowhere")).toBeNull();
});
