import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { directSocketOf, type DirectSocket } from "./move-directly.ts";

const releasers: (() => void)[] = [];
afterEach(() => {
  while (releasers.length > 0) releasers.pop()?.();
});

/** Both ends of a connection; the near one does not read by itself. */
async function openPair(): Promise<{ near: Socket; far: Socket; direct: DirectSocket }> {
  const server = createServer({ pauseOnConnect: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const near = connect({ host: "127.0.0.1", port }).on("error", () => undefined);
  const arriving = once(server, "connection");
  await once(near, "connect");
  const [far] = (await arriving) as [Socket];
  near.pause();
  releasers.push(
    () => server.close(),
    () => near.destroy(),
    () => far.destroy(),
  );
  const direct = directSocketOf(near, () => null);
  if (direct === null) throw new Error("a TCP socket has a descriptor");
  return { near, far, direct };
}

const readSoon = async (direct: DirectSocket, into: Buffer): Promise<number> => {
  for (;;) {
    const count = direct.read(into);
    if (count !== null) return count;
    await new Promise((resolve) => setImmediate(resolve));
  }
};

test("reads what is there, says when nothing is, and when nothing comes any more", async () => {
  const { far, direct } = await openPair();
  const into = Buffer.alloc(16);
  expect(direct.read(into)).toBeNull();
  far.write("seven");
  expect(await readSoon(direct, into)).toBe(5);
  expect(into.toString("latin1", 0, 5)).toBe("seven");
  expect(direct.read(into)).toBeNull();
  far.end();
  expect(await readSoon(direct, into)).toBe(0);
});

test("writes as much as the kernel has room for, and nothing before what waits already", async () => {
  const { near, direct } = await openPair();
  const bytes = Buffer.alloc(64 * 1024 * 1024, 7);
  const took = direct.write(bytes);
  expect(took).toBeGreaterThan(0);
  expect(took).toBeLessThan(bytes.length);
  expect(direct.write(bytes)).toBe(0);
  near.write(bytes.subarray(took));
  expect(near.writableLength).toBeGreaterThan(0);
  expect(direct.write(Buffer.from("later"))).toBe(0);
});

test("a broken connection is an error to who reads, and takes nothing from who writes", async () => {
  const { far, direct } = await openPair();
  far.resetAndDestroy();
  await expect(readSoon(direct, Buffer.alloc(16))).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(direct.write(Buffer.from("more"))).toBe(0);
});

test("a socket that is gone has nothing and takes nothing, whoever has its descriptor now", async () => {
  const { near, direct } = await openPair();
  near.destroy();
  expect(direct.read(Buffer.alloc(16))).toBeNull();
  expect(direct.write(Buffer.from("more"))).toBe(0);
});
