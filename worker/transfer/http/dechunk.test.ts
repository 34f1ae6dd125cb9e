import { describe, expect, it } from "vitest";
import { isFault } from "#protocol/faults/fault.ts";
import { createDechunker } from "./dechunk.ts";

/** Decodes `text` cut into pieces of `size` bytes. */
function decode(text: string, size = text.length): { payload: string; ended: boolean; over: number } {
  const dechunker = createDechunker();
  let payload = "";
  for (let at = 0; at < text.length; at += size) {
    const bytes = Buffer.from(text.slice(at, at + size), "latin1");
    const { kept, used, ended } = dechunker.decode(bytes);
    payload += bytes.toString("latin1", 0, kept);
    if (ended) return { payload, ended, over: text.length - at - used };
  }
  return { payload, ended: false, over: 0 };
}

describe("chunked bodies", () => {
  const whole = '5\r\nhello\r\n00000C;name="a;b"\r\n, chunked wo\r\n3 \r\nrld\r\n0\r\nX-Trailer: 1\r\nY: 2\r\n\r\n';

  it("come out the same however they are cut", () => {
    for (let size = 1; size <= whole.length; size++) {
      expect(decode(whole, size)).toEqual({ payload: "hello, chunked world", ended: true, over: 0 });
    }
  });

  it("end where they end, whatever follows", () => {
    expect(decode("1\r\na\r\n0\r\n\r\nHTTP/1.1")).toEqual({ payload: "a", ended: true, over: 8 });
  });

  it("have not ended before the last line", () => {
    for (let length = 1; length < whole.length; length++) expect(decode(whole.slice(0, length)).ended).toBe(false);
  });

  it.each([
    ["no size", "\r\nhello\r\n"],
    ["a size that is no number", "xyz\r\n"],
    ["a negative size", "-5\r\nhello"],
    ["a size no number holds", "fffffffffffffffff\r\n"],
    ["a bare line feed after the size", "5\nhello"],
    ["a bare line feed in an extension", "5;a\nb\r\nhello"],
    ["a bare carriage return after the size", "5\rhello"],
    ["a chunk longer than its size", "5\r\nhello!\r\n"],
    ["an extension without end", `5;${"x".repeat(20_000)}`],
    ["trailers without end", `0\r\n${"A: 1\r\n".repeat(4000)}`],
    ["a bare line feed in a trailer", "0\r\nA: 1\nB: 2\r\n\r\n"],
  ])("are refused with %s", (_what, text) => {
    let code = "understood";
    try {
      decode(text);
    } catch (error) {
      code = isFault(error) ? error.code : String(error);
    }
    expect(code).toBe("UNEXPECTED_ANSWER");
  });
});
