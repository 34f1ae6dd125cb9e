import { describe, expect, it } from "vitest";
import { isFault } from "#protocol/faults/fault.ts";
import { framingOf, HeadReader, restAfter } from "./parse-answer.ts";

const read = (text: string) => new HeadReader().push(Buffer.from(text, "latin1"));
const headOf = (text: string) => {
  const found = read(text);
  if (found === null) throw new Error("the head is not whole");
  return found.head;
};
const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return isFault(error) ? error.code : String(error);
  }
  return "understood";
};

describe("the head of an answer", () => {
  it("gives status, lower-case names and trimmed values, and where the body begins", () => {
    const text = 'HTTP/1.1 206 Partial Content\r\nContent-Range: \t bytes 0-4/5 \r\nETag: "a:b"\r\n\r\nhello';
    const found = read(text);
    expect(found?.head.status).toBe(206);
    expect({ ...found?.head.headers }).toEqual({ "content-range": "bytes 0-4/5", etag: '"a:b"' });
    expect(found?.used).toBe(text.indexOf("hello"));
  });

  it("is the same however its bytes are cut", () => {
    const text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: 1\r\na: 2\r\nContent-Length: 3\r\n\r\n";
    for (let size = 1; size < text.length; size++) {
      const reader = new HeadReader();
      let found: ReturnType<typeof reader.push> = null;
      for (let at = 0; at < text.length; at += size) found = reader.push(Buffer.from(text.slice(at, at + size)));
      expect(found?.head.status).toBe(200);
      expect(found?.head.headers["a"]).toBe("1, 2");
      expect(found?.used).toBe(text.length % size === 0 ? size : text.length % size);
    }
  });

  it("takes a name out of no prototype", () => {
    const { headers } = headOf("HTTP/1.1 200 OK\r\n__proto__: x\r\n\r\n");
    expect(headers["__proto__"]).toBe("x");
    expect(headers["constructor"]).toBeUndefined();
  });

  it.each([
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n"],
    ["another protocol, from its first byte", "\u0015\u0003"],
    ["HTTP/2", "HTTP/2 200\r\n\r\n"],
    ["HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
    ["a status below 100", "HTTP/1.1 099 OK\r\n\r\n"],
    ["no status", "HTTP/1.1 OK\r\n\r\n"],
    ["two blanks", "HTTP/1.1  200 OK\r\n\r\n"],
    ["bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"],
    ["a bare line feed in a header", "HTTP/1.1 200 OK\r\nA: 1\nContent-Length: 0\r\n\r\n"],
    ["a bare carriage return", "HTTP/1.1 200 OK\r\nA: 1\rB: 2\r\n\r\n"],
    ["a NUL", "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n"],
    ["a header without a colon", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"],
    ["a header without a name", "HTTP/1.1 200 OK\r\n: x\r\n\r\n"],
    ["a blank before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n"],
    ["a folded header", "HTTP/1.1 200 OK\r\nA: 1\r\n 2\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
    ["a list of lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n"],
    ["a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"],
    ["a signed length", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n"],
    ["a hexadecimal length", "HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\n"],
    ["an empty length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n"],
    ["a length no number holds", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"],
    ["a change of protocol", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
    ["too many headers", `HTTP/1.1 200 OK\r\n${"A: 1\r\n".repeat(201)}\r\n`],
    ["a head that is too long", `HTTP/1.1 200 OK\r\nA: ${"x".repeat(65 * 1024)}`],
    ["interim answers without end", "HTTP/1.1 100 Continue\r\n\r\n".repeat(3000)],
  ])("refuses %s", (_what, text) => {
    expect(codeOf(() => read(text))).toBe("UNEXPECTED_ANSWER");
  });

  it("accepts the same length said twice", () => {
    expect(headOf("HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length: 5\r\n\r\n").headers["content-length"]).toBe(
      "5",
    );
  });

  it("accepts a status without a reason, and reasons in Latin-1", () => {
    expect(headOf("HTTP/1.1 404\r\n\r\n").status).toBe(404);
    expect(headOf("HTTP/1.1 404 \r\n\r\n").status).toBe(404);
    expect(headOf("HTTP/1.1 404 Nicht da, schöne Grüße\r\n\r\n").status).toBe(404);
  });
});

describe("the end of the body", () => {
  const framing = (headers: string, how: { status?: number; method?: string; version?: string } = {}) =>
    framingOf(headOf(`HTTP/${how.version ?? "1.1"} ${how.status ?? 200} X\r\n${headers}\r\n`), how.method ?? "GET");

  it.each([
    ["Content-Length: 7\r\n", {}, { kind: "length", bytes: 7 }],
    ["Content-Length: 0\r\n", {}, { kind: "length", bytes: 0 }],
    ["Transfer-Encoding: chunked\r\n", {}, { kind: "chunked" }],
    ["Transfer-Encoding: Chunked\r\n", {}, { kind: "chunked" }],
    ["", {}, { kind: "close" }],
    ["", { version: "1.0" }, { kind: "close" }],
    ["Content-Length: 7\r\n", { method: "HEAD" }, { kind: "none" }],
    ["Transfer-Encoding: chunked\r\n", { method: "HEAD" }, { kind: "none" }],
    ["", { status: 204 }, { kind: "none" }],
    ["Content-Length: 7\r\n", { status: 304 }, { kind: "none" }],
  ])("after %j %j is %j", (headers, how, expected) => {
    expect(framing(headers, how)).toEqual(expected);
  });

  it.each([
    ["a length and chunks", "Content-Length: 7\r\nTransfer-Encoding: chunked\r\n", "1.1"],
    ["an unknown coding", "Transfer-Encoding: gzip, chunked\r\n", "1.1"],
    ["chunked twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "1.1"],
    ["identity", "Transfer-Encoding: identity\r\n", "1.1"],
    ["chunks in HTTP/1.0", "Transfer-Encoding: chunked\r\n", "1.0"],
  ])("is unclear with %s", (_what, headers, version) => {
    expect(codeOf(() => framing(headers, { version }))).toBe("UNEXPECTED_ANSWER");
  });
});

describe("the time a connection may be idle", () => {
  const rest = (headers: string, version = "1.1") =>
    restAfter(headOf(`HTTP/${version} 200 OK\r\n${headers}\r\n`), 4000);

  it.each([
    ["", 4000],
    ["Connection: close\r\n", 0],
    ["Connection: Keep-Alive, CLOSE\r\n", 0],
    ["Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n", 4000],
    ["Keep-Alive: max=100, timeout=30\r\n", 29_000],
    ["Keep-Alive: timeout=1\r\n", 500],
    ["Keep-Alive: timeout=0\r\n", 0],
    ["Keep-Alive: timeout=999999\r\n", 60_000],
    ["Keep-Alive: timeout=soon\r\n", 4000],
  ])("after %j is %i ms", (headers, expected) => {
    expect(rest(headers)).toBe(expected);
  });

  it("is none in HTTP/1.0, unless the server says so", () => {
    expect(rest("", "1.0")).toBe(0);
    expect(rest("Connection: keep-alive\r\n", "1.0")).toBe(4000);
  });
});
