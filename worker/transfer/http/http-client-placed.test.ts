import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { answering, codeOf, get, never, peer, slowly, httpClient } from "#worker/testing/http-client-tester.ts";
import { TRIAL_TLS } from "#storage/testing/trial-certificate.ts";
import { systemCalls } from "#worker/base/system-calls.ts";
import type { Sink } from "./http-client.ts";

const bytes = randomBytes(100_000);
const headOf = (more: string) => `HTTP/1.1 200 OK\r\n${more}\r\n\r\n`;
const whole = Buffer.concat([Buffer.from(headOf(`Content-Length: ${bytes.length}`)), bytes]);

/** A sink with a place for the body, which holds nothing of it yet. */
function placing(lengthBytes = bytes.length + 1): Sink & { into: Buffer; elsewhere: number; received: number } {
  const into = Buffer.alloc(lengthBytes);
  return {
    into,
    elsewhere: 0,
    received: 0,
    head: () => undefined,
    bytes(chunk) {
      if (chunk.buffer !== into.buffer) {
        this.elsewhere += chunk.length;
        chunk.copy(into, this.received);
      } else expect(chunk.byteOffset - into.byteOffset).toBe(this.received);
      this.received += chunk.length;
    },
  };
}

const isThere = (sink: { into: Buffer }) => sink.into.subarray(0, bytes.length).equals(bytes);

/** Any store is far where ticks are so short. */
const AT_TICKS = { tickMs: 0.001, aimBytes: 32 * 1024, mostMs: 40, growBytes: 512 * 1024 };

describe.each([
  ["that is read as it comes", { pace: { ...AT_TICKS, tickMs: 1000 } }],
  ["that is looked for at ticks", { pace: AT_TICKS }],
])("a sink with a place for the body %s", (_, options) => {
  const isAtTicks = options.pace === AT_TICKS;

  it.each(["plain", "tls"])("has it there, from its start, on one connection for all of them: %s", async (how) => {
    const tls = how === "tls" ? TRIAL_TLS : undefined;
    const server = await peer(async (link) => {
      while ((await link.request()) !== null) await link.write(whole);
    }, tls);
    const one = httpClient({ ca: TRIAL_TLS.cert, ...options });
    for (let turn = 0; turn < 5; turn++) {
      const sink = placing();
      await one.fetch({ ...get(server.url), sink });
      expect([sink.received, sink.elsewhere, isThere(sink)]).toEqual([bytes.length, 0, true]);
      expect(one.buffers.lent).toBe(0);
    }
    expect(server.connections).toBe(1);
  });

  it("has the socket read by itself, or not at all", async () => {
    // So little that a socket has all of it with its first read.
    const server = await answering(Buffer.concat([Buffer.from(headOf("Content-Length: 5000")), Buffer.alloc(5_000)]));
    const calls = systemCalls();
    if (calls === null) throw new Error("there are such calls here");
    let received = 0;
    const receive = (fd: number, into: Buffer) => {
      const count = calls.receive(fd, into);
      received += Math.max(0, count);
      return count;
    };
    const one = httpClient({ ...options, calls: { ...calls, receive } });
    for (let turn = 0; turn < 3; turn++) await one.fetch({ ...get(server.url), sink: placing() });
    if (isAtTicks) expect(received).toBeGreaterThan(5_000);
    else expect(received).toBe(0);
  });

  it("has it there when it comes in crumbs, and is told of some before the end", async () => {
    const told: number[] = [];
    const server = await peer(async (link) => {
      await link.request();
      for (let at = 0; at < whole.length; at += 7_001) {
        // The last crumb waits until some of them were told of.
        if (at + 7_001 >= whole.length) await expect.poll(() => told.length).toBeGreaterThan(0);
        await link.write(whole.subarray(at, at + 7_001));
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    });
    const sink = placing();
    const noting: Sink = {
      into: sink.into,
      head: () => undefined,
      bytes: (chunk) => {
        told.push(chunk.length);
        return sink.bytes(chunk);
      },
    };
    await httpClient(options).fetch({ ...get(server.url), sink: noting });
    expect(isThere(sink)).toBe(true);
    expect(told.length).toBeGreaterThan(1);
  });

  it("waits for what comes late, and notices the end", async () => {
    let shiftMs = 0;
    const late = placing();
    const server = await peer(async (link) => {
      await link.request();
      await link.write(whole.subarray(0, 60_000));
      if (server.connections === 1) await expect.poll(() => late.received).toBeGreaterThan(50_000);
      // Longer than an answer is looked for at ticks; some turns of the loop, so that this is noticed.
      shiftMs += 2_700;
      for (let turn = 0; turn < 100; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
      if (server.connections === 1) await link.write(whole.subarray(60_000));
      link.socket.end();
    });
    const one = httpClient({ ...options, now: () => performance.now() + shiftMs });
    await one.fetch({ ...get(server.url), sink: late });
    expect(isThere(late)).toBe(true);
    expect(await codeOf(one.fetch({ ...get(server.url), sink: placing() }))).toBe("TRUNCATED");
  });

  it("may make the rest wait", async () => {
    const server = await answering(whole);
    const sink = placing();
    const slow = slowly(sink);
    const one = httpClient(options);
    for (let turn = 0; turn < 3; turn++) {
      sink.received = 0;
      sink.into.fill(0);
      await one.fetch({ ...get(server.url), sink: slow });
      expect([sink.received, isThere(sink)]).toEqual([bytes.length, true]);
    }
    expect(server.connections).toBe(1);
  });

  it.each([
    {
      why: "is longer than the place",
      header: `Content-Length: ${bytes.length}`,
      body: bytes,
      placeBytes: bytes.length,
    },
    {
      why: "does not tell its length",
      header: "Transfer-Encoding: chunked",
      body: Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n0\r\n\r\n")]),
      placeBytes: bytes.length + 1,
    },
  ])("is given it elsewhere when it $why", async ({ header, body, placeBytes }) => {
    const server = await answering(Buffer.concat([Buffer.from(headOf(header)), body]));
    const sink = placing(placeBytes);
    await httpClient(options).fetch({ ...get(server.url), sink });
    expect([sink.received, sink.elsewhere, isThere(sink)]).toEqual([bytes.length, bytes.length, true]);
  });

  it("gets nothing of what comes after the body, and the connection is not used again", async () => {
    const server = await answering(Buffer.concat([whole, Buffer.from("HTTP/1.1 200 OK")]));
    const one = httpClient(options);
    const sink = placing(bytes.length + 100);
    await one.fetch({ ...get(server.url), sink });
    expect([sink.received, isThere(sink)]).toEqual([bytes.length, true]);
    expect(sink.into.subarray(bytes.length + 15)).toEqual(Buffer.alloc(85));
    expect(one.open).toBe(0);
  });

  it("is of no account where the answer is a refusal, which is read as a whole", async () => {
    const server = await answering("HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno!");
    const sink = placing();
    const answer = await httpClient(options).fetch({ ...get(server.url), sink });
    expect([answer.status, answer.body.toString(), sink.received]).toEqual([403, "no!", 0]);
  });

  it("gets no more when the request is ended in between, and another one may have the place", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write(whole.subarray(0, 50_000));
      if (server.connections > 1) await link.write(whole.subarray(50_000));
      else await new Promise(() => undefined);
    });
    const one = httpClient(options);
    const stop = new AbortController();
    const sink = placing();
    const stopping: Sink = {
      into: sink.into,
      head: () => undefined,
      bytes: () => stop.abort(),
    };
    await expect(one.fetch({ ...get(server.url), signal: stop.signal, sink: stopping })).rejects.toThrow();
    sink.received = 0;
    await one.fetch({ ...get(server.url), signal: never, sink });
    expect([sink.received, isThere(sink)]).toEqual([bytes.length, true]);
  });
});
