import { expect, test } from "vitest";
import { createMask } from "./mask-output.ts";

/** Passes a text through a mask in pieces of one size. */
function masked(values: readonly string[], text: string, size: number): string {
  const mask = createMask(values);
  const bytes = Buffer.from(text);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) parts.push(Buffer.from(mask.add(bytes.subarray(at, at + size))));
  return Buffer.concat([...parts, mask.end()]).toString();
}

const SIZES = [1, 2, 3, 5, 7, 1_000];

test("a value is replaced wherever it stands, however its bytes arrive", () => {
  for (const size of SIZES) {
    const text = "token hf_secret, twice hf_secrethf_secret, héllo hf_secre and hf_s";
    const wanted = "token ***, twice ******, héllo hf_secre and hf_s";
    expect(masked(["hf_secret"], text, size), `pieces of ${size}`).toBe(wanted);
  }
});

test("of values that begin alike the longest is replaced, and one within a line break is found", () => {
  for (const size of SIZES) {
    expect(masked(["abcd", "abcdefgh"], "abcdefgh abcdefg abcd", size)).toBe("*** ***efg ***");
    expect(masked(["abcd", "xabcdy"], "xabcdy xabcd", size)).toBe("*** x***");
  }
  for (const size of SIZES) expect(masked(["key\nline"], "a key\nline b", size)).toBe("a *** b");
});

test("an end that only may begin a value comes with the end, and short values are left", () => {
  const mask = createMask(["secret"]);
  expect(mask.add(Buffer.from("no sec")).toString()).toBe("no ");
  expect(mask.end().toString()).toBe("sec");
  expect(masked(["1", ""], "1 and 11", 3)).toBe("1 and 11");
});
