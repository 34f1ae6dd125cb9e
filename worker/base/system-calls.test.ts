import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createTickReader } from "../transfer/http/socket/read-at-ticks.ts";
import { directSocketOf, type DirectSocket } from "../transfer/http/socket/move-directly.ts";
import { createTimerCoalescer } from "./timer-coalescer.ts";
import { createInputWatch } from "../transfer/http/socket/input-watch.ts";
import { createRoomWatch } from "../transfer/http/socket/room-watch.ts";
import { systemCalls } from "./system-calls.ts";

const releasers: (() => void)[] = [];
afterEach(() => {
  while (releasers.length > 0) releasers.pop()?.();
});

const calls = systemCalls();
if (calls === null) throw new Error("the project's own Node on Linux has them");

function openFile(bytes: Buffer): number {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-calls-"));
  const path = join(folder, "file");
  writeFileSync(path, bytes);
  const fd = openSync(path, "r");
  releasers.push(() => {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  });
  return fd;
}

/** The far end reads nothing before it is told to. */
async function openPair(): Promise<{ near: Socket; far: Socket; direct: DirectSocket }> {
  const server = createServer({ pauseOnConnect: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const near = connect({ host: "127.0.0.1", port }).on("error", () => undefined);
  const arriving = once(server, "connection");
  await once(near, "connect");
  const [far] = (await arriving) as [Socket];
  const [rooms, inputs] = [calls?.watchRoom() ?? null, calls?.watchInput() ?? null, calls?.watchInput() ?? null];
  if (calls === null || rooms === null || inputs === null) throw new Error("sockets can be watched");
  // Every question is a new one.
  let clockMs = 0;
  const straight = {
    calls,
    rooms: createRoomWatch(rooms, { coalescer: createTimerCoalescer(), rttMs: () => 6, now: () => performance.now() }),
    inputs: createInputWatch(inputs, () => (clockMs += 2)),
    ticks: createTickReader(inputs, { tickMs: () => 1, now: () => clockMs }),
  };
  const direct = directSocketOf(near, () => straight);
  if (direct === null) throw new Error("a TCP socket has a descriptor");
  releasers.push(
    () => server.close(),
    () => near.destroy(),
    () => far.destroy(),
  );
  return { near, far, direct };
}

/** All of a file, from `offset` on. */
async function sendAll(direct: DirectSocket, from: { fd: number; offset: number; bytes: number }): Promise<void> {
  for (let sent = 0; sent < from.bytes;) {
    const slice = { fd: from.fd, offset: from.offset + sent, bytes: from.bytes - sent };
    const took = direct.sendFile(slice);
    if (took === "failed") throw new Error("failed");
    if (took !== "full") sent += took;
    if (sent < from.bytes) await new Promise<void>((resolve) => void direct.whenRoom(resolve));
  }
}

async function readAll(far: Socket, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let came = 0;
  for await (const chunk of far) {
    chunks.push(chunk as Buffer);
    came += (chunk as Buffer).length;
    if (came >= bytes) break;
  }
  return Buffer.concat(chunks);
}

test("bytes of a file go to a socket from any place of it, and who waits for room is told when there is some", async () => {
  const bytes = randomBytes(24 * 1024 * 1024);
  const fd = openFile(bytes);
  const { far, direct } = await openPair();
  const slice = { fd, offset: 12_345, bytes: bytes.length - 12_345 };
  const took = direct.sendFile(slice);
  expect(took).toBeGreaterThan(0);
  expect(took).toBeLessThan(slice.bytes);
  expect(direct.sendFile(slice)).toBe("full");
  const sent = Number(took);
  const sending = sendAll(direct, { fd, offset: slice.offset + sent, bytes: slice.bytes - sent });
  const came = await readAll(far, slice.bytes);
  await sending;
  expect(came.equals(bytes.subarray(slice.offset))).toBe(true);
});

test("a place behind four gigabytes is that place", async () => {
  const fd = openFile(randomBytes(1_000));
  const { direct } = await openPair();
  // Cut to 32 bits it would be 100, where there are bytes.
  expect(direct.sendFile({ fd, offset: 2 ** 32 + 100, bytes: 10 })).toBe("failed");
});

test("nothing goes behind the end of a file, from what is no file, or to a socket that is gone", async () => {
  const fd = openFile(randomBytes(1_000));
  const { near, direct } = await openPair();
  expect(direct.sendFile({ fd, offset: 1_000, bytes: 10 })).toBe("failed");
  expect(direct.sendFile({ fd: 99_999, offset: 0, bytes: 10 })).toBe("failed");
  near.destroy();
  expect(direct.sendFile({ fd, offset: 0, bytes: 10 })).toBe("failed");
  expect(direct.whenRoom(() => undefined)).toBe(false);
  expect(direct.paced()?.tcpInfo()).toBeNull();
});

test("nothing goes before what Node has still to write", async () => {
  const fd = openFile(randomBytes(1_000));
  const { near, direct } = await openPair();
  near.write(Buffer.alloc(64 * 1024 * 1024));
  expect(near.writableLength).toBeGreaterThan(0);
  expect(direct.sendFile({ fd, offset: 0, bytes: 10 })).toBe("failed");
});

test("who was forgotten is not told when there is room", async () => {
  const bytes = 24 * 1024 * 1024;
  const fd = openFile(randomBytes(bytes));
  const [told, forgotten] = [await openPair(), await openPair()];
  for (const { direct } of [told, forgotten]) while (direct.sendFile({ fd, offset: 0, bytes }) !== "full");
  let calls = 0;
  const goOn = () => calls++;
  expect(forgotten.direct.whenRoom(goOn)).toBe(true);
  forgotten.direct.forgetRoom(goOn);
  forgotten.far.resume();
  told.far.resume();
  await new Promise<void>((resolve) => void told.direct.whenRoom(resolve));
  expect(calls).toBe(0);
});

test("a socket keeps to a pace, and tells what has been acknowledged", async () => {
  const bytes = randomBytes(4_000_000);
  const fd = openFile(bytes);
  const { far, direct } = await openPair();
  const paced = direct.paced();
  const before = paced?.tcpInfo()?.ackedBytes ?? Number.NaN;
  const startedAt = performance.now();
  paced?.pace(5_000_000);
  const sending = sendAll(direct, { fd, offset: 0, bytes: bytes.length });
  await readAll(far, bytes.length);
  await sending;
  // The first ten packets, of 64 KB here, are not paced. Never sooner; without a pace it takes milliseconds.
  expect(performance.now() - startedAt).toBeGreaterThan(300);
  const after = paced?.tcpInfo();
  expect(after?.ackedBytes).toBeGreaterThan(before + 3_000_000);
  expect(after?.ackedBytes).toBeLessThanOrEqual(before + bytes.length);
  expect(after?.rttMs).toBeGreaterThan(0);
});

/** What comes over loopback comes a moment later. */
async function whenInput(direct: DirectSocket): Promise<void> {
  while (!direct.hasInput()) await new Promise((resolve) => setImmediate(resolve));
}

test("bytes are read as they come, and a socket says whether a read is worth while", async () => {
  const { near, far, direct } = await openPair();
  near.pause();
  const into = Buffer.alloc(16);
  expect(direct.read(into)).toBeNull();
  // The first question begins the watch.
  expect(direct.hasInput()).toBe(true);
  expect(direct.hasInput()).toBe(false);
  far.write("seven");
  await whenInput(direct);
  expect(direct.read(into.subarray(0, 3))).toBe(3);
  expect(direct.hasInput()).toBe(true);
  expect(direct.read(into.subarray(3))).toBe(2);
  expect(into.toString("latin1", 0, 5)).toBe("seven");
  expect(direct.hasInput()).toBe(false);
  far.end();
  await whenInput(direct);
  expect(direct.read(into)).toBe(0);
});

test("a broken connection is worth a read, which throws what the system says", async () => {
  const { near, far, direct } = await openPair();
  near.pause();
  direct.hasInput();
  expect(direct.hasInput()).toBe(false);
  far.resetAndDestroy();
  await whenInput(direct);
  expect(() => direct.read(Buffer.alloc(16))).toThrow(expect.objectContaining({ code: "ECONNRESET" }));
});
