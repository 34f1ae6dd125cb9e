import { randomBytes } from "node:crypto";
import { closeSync, mkdtempSync, openSync, readdirSync, readlinkSync, readSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import type { PacedSocket, UploadBody } from "./exchange.ts";
import { codeOf, keeping, OK, peer, put, httpClient as httpClientWith } from "#worker/testing/http-client-tester.ts";

/** Bodies that lie in files, and go from there to the socket where that is possible. */
const releasers: (() => void)[] = [];
afterEach(() => {
  while (releasers.length > 0) releasers.pop()?.();
});

/** However busy the machine is. */
const quick = { isQuick: () => true, took: () => undefined };
const httpClient = (options: Parameters<typeof httpClientWith>[0] = {}) => httpClientWith({ disk: quick, ...options });

const bytes = randomBytes(40_000_000);
const SHORT_MS = 300;
let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tidemark-files-"));
  writeFileSync(join(folder, "file"), bytes);
  return () => rmSync(folder, { recursive: true });
});

interface Counted extends UploadBody {
  readBytes: number;
  sentBytes: number;
  readonly sockets: PacedSocket[];
}

/** The bytes of the file from `offset` on; `passNow` lets none go unless it is given. */
function bodyOf(about: {
  offset: number;
  lengthBytes: number;
  pass?: (wanted: number) => number | Promise<number>;
  passNow?: (wanted: number) => number;
}) {
  const { offset, lengthBytes, pass = (wanted: number) => wanted, passNow = () => 0 } = about;
  const fd = openSync(join(folder, "file"), "r");
  releasers.push(() => closeSync(fd));
  const body: Counted = {
    lengthBytes,
    readBytes: 0,
    sentBytes: 0,
    sockets: [],
    file: { fd, offset, pass, passNow },
    begins: (socket) => body.sockets.push(socket) > 0,
    read: (into, at) => {
      const count = readSync(fd, into, 0, into.length, offset + at);
      if (count === 0) throw new Fault("SOURCE_CHANGED", { op: "read", detail: "it became shorter" });
      body.readBytes += count;
      return count;
    },
    sent: (count) => {
      body.sentBytes += count;
    },
    bytesPerSecond: () => 100e6,
  };
  return body;
}

test("a part of a file arrives as it lies there, unread, one part after the other on one connection", async () => {
  const { server, kept } = await keeping();
  const one = httpClient();
  const parts = [
    bodyOf({ offset: 0, lengthBytes: 20_000_001 }),
    bodyOf({ offset: 20_000_001, lengthBytes: 1_000_000 }),
    bodyOf({ offset: 21_000_001, lengthBytes: 1 }),
  ];
  for (const part of parts) expect((await one.send(put(server.url, part))).status).toBe(200);
  expect(Buffer.concat(kept).equals(bytes.subarray(0, 21_000_002))).toBe(true);
  expect(parts.map(({ readBytes }) => readBytes)).toEqual([0, 0, 0]);
  expect(parts.map(({ sentBytes }) => sentBytes)).toEqual([20_000_001, 1_000_000, 1]);
  expect(server.connections).toBe(1);
  expect(one.buffers.lent).toBe(0);
  expect(parts.every(({ sockets }) => sockets.length === 1)).toBe(true);
});

test("without the calls of the system it is read, and arrives all the same", async () => {
  const { server, kept } = await keeping();
  const part = bodyOf({ offset: 7, lengthBytes: 5_000_000 });
  expect((await httpClient({ calls: null }).send(put(server.url, part))).status).toBe(200);
  expect(kept[0]?.equals(bytes.subarray(7, 5_000_007))).toBe(true);
  expect(part.readBytes).toBe(5_000_000);
  expect(part.sockets).toEqual([]);
});

test("what keeps everybody waiting is read by another thread from then on, and goes straight again later", async () => {
  const { server, kept } = await keeping();
  const part = bodyOf({ offset: 0, lengthBytes: 9_000_000 });
  let slow = 0;
  const took: number[] = [];
  const disk = { isQuick: () => slow-- <= 0, took: (ms: number) => void (took.push(ms) === 2 && (slow = 3)) };
  await httpClient({ disk }).send(put(server.url, part));
  expect(kept[0]?.equals(bytes.subarray(0, 9_000_000))).toBe(true);
  expect(part.readBytes).toBeGreaterThan(0);
  expect(part.readBytes).toBeLessThan(3_000_000);
  expect(took.length).toBeGreaterThan(2);
});

test("no more goes at a time than may pass, at once or later", async () => {
  const { server, kept } = await keeping();
  let asked = 0;
  const pass = (wanted: number) => {
    const count = Math.min(wanted, 10_000);
    return ++asked % 2 === 0 ? count : new Promise<number>((resolve) => setImmediate(() => resolve(count)));
  };
  const part = bodyOf({ offset: 0, lengthBytes: 500_000, pass });
  await httpClient().send(put(server.url, part));
  expect(kept[0]?.equals(bytes.subarray(0, 500_000))).toBe(true);
  expect(asked).toBe(50);
  expect(part.readBytes).toBe(0);
});

test("who is paced by its caller goes on when it is let", async () => {
  const { server, kept } = await keeping();
  const part = bodyOf({ offset: 0, lengthBytes: 300_000 });
  part.begins = () => false;
  let holds = 0;
  let turn = 0;
  part.allow = (wanted, goOn) => {
    if (++turn % 2 === 0) return Math.min(wanted, 30_000);
    holds++;
    setImmediate(goOn);
    return 0;
  };
  await httpClient().send(put(server.url, part));
  expect(kept[0]?.equals(bytes.subarray(0, 300_000))).toBe(true);
  expect(holds).toBe(10);
});

test("who is paced by its socket is not asked, and what is let go is topped up, to its last byte and no further", async () => {
  let got: Buffer | null = null;
  const server = await peer(async (link) => {
    // Before it reads, until the sockets between them are full.
    for (let before = -1; part.sentBytes > before;) {
      before = part.sentBytes;
      for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
    }
    got = (await link.request())?.body ?? null;
    await link.write(OK);
  });
  const passed = { go: 0, more: 0 };
  // Odd, so that a socket that fills takes a part of it.
  const pass = (wanted: number) => {
    const some = Math.min(wanted, 99_991);
    passed.go += some;
    return some;
  };
  const passNow = (wanted: number) => {
    const some = Math.min(wanted, 100_000);
    passed.more += some;
    return some;
  };
  const part = bodyOf({ offset: 0, lengthBytes: 30_000_000, pass, passNow });
  part.allow = () => expect.unreachable();
  await httpClient().send(put(server.url, part));
  expect(bytes.subarray(0, 30_000_000).equals(got ?? bytes)).toBe(true);
  expect(passed.go + passed.more).toBe(30_000_000);
  expect(passed.more).toBeGreaterThan(0);
});

test("a file that became shorter is what its reader says it is", async () => {
  const { server } = await keeping();
  const part = bodyOf({ offset: 39_000_000, lengthBytes: 2_000_000 });
  expect(await codeOf(httpClient().send(put(server.url, part)))).toBe("SOURCE_CHANGED");
});

test("a store that stops reading is a stall, and nothing of the file is touched afterwards", async () => {
  let drain: () => void = () => undefined;
  const closed = Promise.withResolvers<void>();
  const server = await peer(async (link) => {
    await link.head();
    drain = () => void link.socket.once("close", closed.resolve).resume();
    await new Promise(() => undefined);
  });
  const one = httpClient({ idleMs: SHORT_MS });
  const part = bodyOf({ offset: 0, lengthBytes: 40_000_000 });
  expect(await codeOf(one.send(put(server.url, part)))).toBe("STALLED");
  expect(one.open).toBe(0);
  const { sentBytes } = part;
  expect(sentBytes).toBeLessThan(40_000_000);
  drain();
  await closed.promise;
  expect(part.sentBytes).toBe(sentBytes);
});

test("a store that answers early is heard, and the rest stays where it is", async () => {
  const server = await peer(async (link) => {
    await link.head();
    await link.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
  });
  const part = bodyOf({ offset: 0, lengthBytes: 40_000_000 });
  expect((await httpClient().send(put(server.url, part))).status).toBe(403);
  expect(part.sentBytes).toBeLessThan(40_000_000);
});

test("a kept connection that was closed is replaced, and the whole body goes by the new one", async () => {
  const kept: Buffer[] = [];
  const server = await peer(async (link) => {
    const first = await link.request();
    if (first === null) return;
    kept.push(first.body);
    await link.write(OK);
    if (link.nth === 1) link.socket.resetAndDestroy();
  });
  const one = httpClient();
  await one.send(put(server.url, bodyOf({ offset: 0, lengthBytes: 100_000 })));
  const part = bodyOf({ offset: 100_000, lengthBytes: 10_000_000 });
  await one.send(put(server.url, part));
  expect(kept[1]?.equals(bytes.subarray(100_000, 10_100_000))).toBe(true);
  expect(part.sentBytes).toBe(10_000_000);
});

test("a wire that is closed leaves no descriptor behind", async () => {
  const { server } = await keeping();
  const polls = () => readdirSync("/proc/self/fd").filter((fd) => isPoll(`/proc/self/fd/${fd}`)).length;
  const before = polls();
  const one = httpClient();
  await one.send(put(server.url, bodyOf({ offset: 0, lengthBytes: 20_000_000 })));
  expect(polls()).toBe(before + 2);
  await one.close();
  expect(polls()).toBe(before);
});

function isPoll(path: string): boolean {
  try {
    return readlinkSync(path) === "anon_inode:[eventpoll]";
  } catch {
    return false;
  }
}
