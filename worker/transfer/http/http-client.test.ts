import { randomBytes } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import {
  answering,
  codeOf,
  collect,
  faultOf,
  get,
  OK,
  peer,
  put,
  upload,
  httpClient,
} from "#worker/testing/http-client-tester.ts";
import type { Sink } from "./http-client.ts";

describe("an exchange", () => {
  it("sends host, headers and path as they were signed, and nothing that was not asked for", async () => {
    let head = "";
    const server = await peer(async (link) => {
      head = (await link.request())?.head ?? "";
      await link.write(OK);
    });
    const request = {
      method: "GET" as const,
      url: `${server.url}/a%20b/c?x=1&y=%2F`,
      headers: { "x-amz-date": "now" },
      expiresAt: 0,
    };
    const answer = await httpClient().send(get(server.url, { request, headers: { range: "bytes=0-1" } }));
    expect(answer.status).toBe(200);
    expect(answer.body.toString()).toBe("ok");
    expect(head.split("\r\n")).toEqual([
      "GET /a%20b/c?x=1&y=%2F HTTP/1.1",
      `host: ${new URL(server.url).host}`,
      "x-amz-date: now",
      "range: bytes=0-1",
    ]);
  });

  it("refuses a header that would end the line, without repeating it", async () => {
    const server = await answering(OK);
    const fault = await faultOf(httpClient().send(get(server.url, { headers: { "x-secret": "a\r\nhost: evil" } })));
    expect(fault.code).toBe("BAD_INPUT");
    expect(fault.message).not.toContain("evil");
    expect(server.connections).toBe(0);
  });

  it("uses one connection for requests that follow each other", async () => {
    const server = await answering(OK);
    const one = httpClient();
    for (let turn = 0; turn < 20; turn++) await one.send(get(server.url));
    expect(server.connections).toBe(1);
    expect(one.open).toBe(1);
  });

  it("skips interim answers", async () => {
    const server = await answering(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: 1\r\n\r\n${OK}`);
    expect((await httpClient().send(put(server.url, Buffer.from("body")))).status).toBe(200);
  });

  it("reads the answer to HEAD without waiting for the body it speaks of", async () => {
    const server = await answering('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\nETag: "e"\r\n\r\n');
    const one = httpClient();
    const request = { method: "HEAD" as const, url: server.url, headers: {}, expiresAt: 0 };
    for (let turn = 0; turn < 3; turn++) {
      const answer = await one.send(get(server.url, { request }));
      expect(answer.headers["content-length"]).toBe("1000000");
    }
    expect(server.connections).toBe(1);
  });

  it("moves hundreds of bodies over a few connections, every byte right both ways", async () => {
    const blob = randomBytes(3_000_000);
    const kept = new Map<string, Buffer>();
    const server = await peer(async (link) => {
      for (;;) {
        const asked = await link.request();
        if (asked === null) return;
        const [, method = "", name = "", length = "0"] = /^(\w+) \/(\d+)-(\d+)/.exec(asked.head) ?? [];
        if (method === "PUT") {
          kept.set(name, asked.body);
          await link.write(OK);
        } else {
          const bytes = blob.subarray(Number(name), Number(name) + Number(length));
          await link.write(`HTTP/1.1 206 Partial\r\nContent-Length: ${length}\r\n\r\n`);
          await link.write(bytes);
        }
      }
    });
    const one = httpClient({ connections: 3 });
    const turns = Array.from({ length: 300 }, (_, turn) => ({
      offset: turn * 9000,
      length: 1 + ((turn * 7919) % 290_000),
    }));
    await Promise.all(
      turns.map(async ({ offset, length }) => {
        const expected = blob.subarray(offset, offset + length);
        const url = `${server.url}/${offset}-${expected.length}`;
        const sink = collect();
        await one.fetch({ ...get(url), sink });
        expect(sink.bytesOf().equals(expected)).toBe(true);
        const body = upload(expected);
        expect((await one.send(put(url, body))).status).toBe(200);
        expect(body.sentBytes).toBe(expected.length);
        expect(kept.get(String(offset))?.equals(expected)).toBe(true);
      }),
    );
    expect(server.connections).toBe(3);
    expect(one.buffers.lent).toBe(0);
  });

  it("knows the round trip after the first answer", async () => {
    const server = await answering(OK);
    const one = httpClient();
    expect(one.rttMs()).toBeNull();
    await one.send(get(server.url));
    expect(one.rttMs()).toBeGreaterThan(0);
  });
});

describe("bodies of answers", () => {
  it("arrive whole when they are chunked", async () => {
    const bytes = randomBytes(700_000);
    const server = await peer(async (link) => {
      while ((await link.request()) !== null) {
        await link.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (let at = 0; at < bytes.length; at += 33_333) {
          const chunk = bytes.subarray(at, at + 33_333);
          await link.write(
            Buffer.concat([Buffer.from(`${chunk.length.toString(16)};x=y\r\n`), chunk, Buffer.from("\r\n")]),
          );
        }
        await link.write("0\r\nX-Trailer: 1\r\n\r\n");
      }
    });
    const one = httpClient();
    for (let turn = 0; turn < 2; turn++) {
      const sink = collect();
      await one.fetch({ ...get(server.url), sink });
      expect(sink.bytesOf().equals(bytes)).toBe(true);
    }
    expect(server.connections).toBe(1);
  });

  it("end with the connection where nothing else says so, and the connection is not used again", async () => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write(`HTTP/1.1 200 OK\r\n\r\nclosed ${link.nth}`);
      link.socket.end();
    });
    const one = httpClient();
    expect((await one.send(get(server.url))).body.toString()).toBe("closed 1");
    const sink = collect();
    await one.fetch({ ...get(server.url), sink });
    expect(sink.bytesOf().toString()).toBe("closed 2");
  });

  it.each([
    ["by length", "Content-Length: 500000", ""],
    ["in chunks", "Transfer-Encoding: chunked", "7a120\r\n"],
  ])("that are cut short are never whole: %s", async (_what, header, prefix) => {
    const server = await peer(async (link) => {
      await link.request();
      await link.write(`HTTP/1.1 206 Partial\r\n${header}\r\n\r\n${prefix}`);
      await link.write(Buffer.alloc(300_000, 1));
      link.socket.end();
    });
    const one = httpClient();
    const sink = collect();
    expect(await codeOf(one.fetch({ ...get(server.url), sink }))).toBe("TRUNCATED");
    // What did come was handed on, so that the rest can be asked for.
    expect(sink.bytesOf().length).toBe(300_000);
    expect(await codeOf(one.send(get(server.url)))).toBe("TRUNCATED");
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
  });

  it("that end in a reset are a lost link", async () => {
    let arrived: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (arrived = resolve));
    const server = await peer(async (link) => {
      await link.request();
      await link.write("HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\nhello");
      await begun;
      link.socket.resetAndDestroy();
    });
    const one = httpClient();
    const sink: Sink = { head: () => undefined, bytes: () => arrived() };
    expect(await codeOf(one.fetch({ ...get(server.url), sink }))).toBe("LINK_DOWN");
    await vi.waitFor(() => expect(one.buffers.lent).toBe(0), 20_000);
  });

  it("that are no HTTP are refused with the key's name, and the connection is dropped", async () => {
    const server = await answering("Hello, this is SMTP\r\n");
    const one = httpClient();
    const fault = await faultOf(one.send(get(server.url)));
    expect(fault.code).toBe("UNEXPECTED_ANSWER");
    expect(fault.context).toMatchObject({ op: "GetObject", subject: "key" });
    expect(one.open).toBe(0);
  });

  it("that are too long for an answer are refused", async () => {
    const server = await answering(
      Buffer.concat([Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n"), Buffer.alloc(9_000_000)]),
    );
    expect(await codeOf(httpClient().send(get(server.url)))).toBe("UNEXPECTED_ANSWER");
  });

  it("with bytes after their end cost the connection, not the answer", async () => {
    const server = await answering(`${OK}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`);
    const one = httpClient();
    for (let turn = 0; turn < 2; turn++) expect((await one.send(get(server.url))).body.toString()).toBe("ok");
    expect(server.connections).toBe(2);
  });

  it("of errors are read whole and not given to the sink", async () => {
    const server = await answering("HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\n<Error>");
    const sink = collect();
    const answer = await httpClient().fetch({ ...get(server.url), sink });
    expect(answer.body.toString()).toBe("<Error>");
    expect(sink.bytesOf().length).toBe(0);
  });

  it("are not read when the sink does not like the head", async () => {
    const server = await answering(OK);
    const one = httpClient();
    const sink: Sink = {
      head: () => {
        throw new Fault("RANGE_IGNORED");
      },
      bytes: () => expect.unreachable(),
    };
    expect(await codeOf(one.fetch({ ...get(server.url), sink }))).toBe("RANGE_IGNORED");
    expect(one.open).toBe(0);
  });
});
