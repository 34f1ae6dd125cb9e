import { describe, expect, test } from "vitest";
import { combineCrc32, sumBytes, sumOfSums } from "./combine-crc32.ts";
import { compositeCrc32, crc32FromBase64, crc32Hex, crc32ToBase64 } from "./crc32.ts";

const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, index) => (index * 131 + 7) % 251));

describe("crc32Hex", () => {
  test("gives the published check value of the algorithm", () => {
    expect(crc32Hex(Buffer.from("123456789"))).toBe("cbf43926");
    expect(crc32Hex(Buffer.from("The quick brown fox jumps over the lazy dog"))).toBe("414fa339");
  });

  test("keeps leading zeros, and gives zero for nothing", () => {
    expect(crc32Hex(Buffer.alloc(0))).toBe("00000000");
    expect(crc32Hex(Buffer.from("codding"))).toMatch(/^[0-9a-f]{8}$/);
  });

  test("goes on from the sum of earlier bytes", () => {
    const all = bytes(1000);
    expect(crc32Hex(all.subarray(300), crc32Hex(all.subarray(0, 300)))).toBe(crc32Hex(all));
  });
});

describe("combineCrc32", () => {
  test.each([0, 1, 2, 7, 255, 256, 4095, 65_537])(
    "puts two sums together when the second piece has %i bytes",
    (length) => {
      const all = bytes(1000 + length);
      const a = all.subarray(0, 1000);
      const b = all.subarray(1000);
      expect(combineCrc32(crc32Hex(a), crc32Hex(b), length)).toBe(crc32Hex(all));
    },
  );

  test("puts many parts together in order", () => {
    const all = bytes(100_003);
    let sum = "00000000";
    for (let offset = 0; offset < all.length; offset += 7919) {
      const piece = all.subarray(offset, offset + 7919);
      sum = combineCrc32(sum, crc32Hex(piece), piece.length);
    }
    expect(sum).toBe(crc32Hex(all));
  });

  test("does not depend on how a long run of bytes is cut, beyond 4 GiB", () => {
    const length = 5 * 2 ** 31 + 12_345;
    const cut = 2 ** 32 + 77;
    const inTwo = combineCrc32(combineCrc32("cbf43926", "00000000", cut), "00000000", length - cut);
    expect(combineCrc32("cbf43926", "00000000", length)).toBe(inTwo);
    expect(inTwo).not.toBe("cbf43926");
  });
});

describe("the form of headers", () => {
  test("is base64 of the four bytes, most significant first", () => {
    expect(crc32ToBase64("cbf43926")).toBe("y/Q5Jg==");
    expect(crc32FromBase64("y/Q5Jg==")).toBe("cbf43926");
  });

  test("is refused when it is the sum of sums of a multipart object, or no sum at all", () => {
    expect(crc32FromBase64("y/Q5Jg==-3")).toBeNull();
    expect(crc32FromBase64("")).toBeNull();
    expect(crc32FromBase64("y/Q5JgAA")).toBeNull();
  });
});

describe("sumBytes", () => {
  test("gives what the machine's own code gives, for every length around its step and from any byte on", () => {
    const all = bytes(400);
    for (let length = 0; length <= 70; length++) {
      for (const from of [0, 1, 7]) {
        const piece = all.subarray(from, from + length);
        expect(sumBytes(piece), `${from} ${length}`).toBe(crc32Hex(piece));
      }
    }
    expect(sumBytes(all.subarray(33), sumBytes(all.subarray(0, 33)))).toBe(crc32Hex(all));
  });

  test("puts the sums of parts together as stores do", () => {
    const sums = [crc32Hex(bytes(9)), "00000000", "ffffffff"];
    expect(sumOfSums(sums)).toBe(compositeCrc32(sums));
  });
});
