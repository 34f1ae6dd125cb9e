import { describe, expect, it } from "vitest";
import { answerLookup } from "./answer-lookup.ts";
import { firstByteOf, kindOf, type FarEvent } from "./timeline.ts";

const RUN: FarEvent[] = [
  { kind: "lookup", atMs: 1110 },
  { kind: "lookup", atMs: 1111 },
  { kind: "connected", atMs: 1230 },
  { kind: "encrypted", atMs: 1350 },
  { kind: "request", atMs: 1350, request: "create" },
  { kind: "request", atMs: 1470, request: "part" },
  { kind: "payload", atMs: 1471, direction: "up" },
  { kind: "request", atMs: 1500, request: "head" },
];

describe("the first byte of payload", () => {
  it("left half a round trip before the far end saw it, after all that came before", () => {
    expect(firstByteOf(RUN, { startedMs: 1000, rttMs: 120, direction: "up" })).toEqual({
      firstPacketMs: 50,
      firstByteMs: 411,
      before: ["DNS", "TCP", "TLS", "CREATE"],
    });
  });

  it("is there half a round trip after the far end sent it", () => {
    const events: FarEvent[] = [
      { kind: "connected", atMs: 110 },
      { kind: "request", atMs: 200, request: "get" },
      { kind: "payload", atMs: 205, direction: "down" },
    ];
    expect(firstByteOf(events, { startedMs: 0, rttMs: 100, direction: "down" })?.firstByteMs).toBe(255);
  });

  it("is told without what the tool before had left on the way", () => {
    const left: FarEvent[] = [{ kind: "connected", atMs: 1059 }, ...RUN];
    expect(firstByteOf(left, { startedMs: 1000, rttMs: 120, direction: "up" })?.firstPacketMs).toBe(50);
  });

  it("is not taken from a payload of the other direction", () => {
    expect(firstByteOf(RUN, { startedMs: 1000, rttMs: 120, direction: "down" })).toBeNull();
  });
});

it("requests are told apart by method and target", () => {
  expect(kindOf("POST", "/b/k?uploads=")).toBe("create");
  expect(kindOf("PUT", "/b/k?partNumber=1&uploadId=x")).toBe("part");
  expect(kindOf("PUT", "/b/k")).toBe("put");
  expect(kindOf("GET", "/b/a/k")).toBe("get");
  expect(kindOf("GET", "/b/?list-type=2&prefix=k")).toBe("list");
  expect(kindOf("GET", "/b?location=")).toBe("other");
  expect(kindOf("HEAD", "/b/k")).toBe("head");
});

describe("the resolver", () => {
  const query = (type: number): Buffer =>
    Buffer.concat([
      Buffer.from([0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
      Buffer.from("\u0001s\u0004test\u0000", "latin1"),
      Buffer.from([0, type, 0, 1]),
    ]);

  it("answers a question for an IPv4 address", () => {
    const reply = answerLookup(query(1), "10.90.0.2");
    expect(reply?.readUInt16BE(0)).toBe(0x1234);
    expect(reply?.readUInt16BE(6)).toBe(1);
    expect([...(reply?.subarray(-4) ?? [])]).toEqual([10, 90, 0, 2]);
  });

  it("knows no IPv6 address, which is no error", () => {
    const reply = answerLookup(query(28), "10.90.0.2");
    expect(reply?.readUInt16BE(6)).toBe(0);
    expect((reply?.readUInt16BE(2) ?? 1) & 0xf).toBe(0);
  });
});
