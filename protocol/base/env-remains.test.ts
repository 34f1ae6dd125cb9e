import { expect, test } from "vitest";
import { plainNameOf, remainsOfEnvFile } from "./env-remains.ts";

const of = (value: string, kind?: "text" | "key" | "file of a key") =>
  remainsOfEnvFile(value, { name: "TIDEMARK_TO", ...(kind && { kind }) });

test.each([
  ['"abc"', "quotes around"],
  ["'abc'", "quotes around"],
  ['"abc', "nothing closes"],
  ['abc"', "nothing opens"],
  ["'abc", "nothing closes"],
  ["abc'", "nothing opens"],
  ['"', "nothing closes"],
  ["abc\r", "Windows"],
  ["abc\r\n", "Windows"],
  ["\ufeffabc", "byte order mark"],
  ["abc ", "ends with a space"],
  [" abc", "begins with a space"],
  ["abc\u00a0", "ends with a space"],
  ["abc\u200b", "nobody sees"],
  ["\u2060abc", "nobody sees"],
  ["TIDEMARK_TO=abc", "whole line"],
  ["export TIDEMARK_TO=abc", "whole line"],
])("%j is not plain", (value, why) => {
  expect(of(value)).toContain(why);
});

test("what a value may have is plain: quotes inside, a command that quotes, a family of one sign", () => {
  for (const value of ["abc", "a b", `sh -c "echo a"`, `it's`, "run-👨\u200d👩", "s3://b/p", "a=b"])
    expect(of(value)).toBeNull();
});

test("a key has no such character anywhere, and one in a file of its own may end with a quote", () => {
  expect(of("AK\u200bIA", "key")).toContain("nobody sees");
  expect(of("AK\u200bIA", "file of a key")).toContain("nobody sees");
  expect(of(`abc"`, "key")).toContain("nothing opens");
  expect(of(`abc"`, "file of a key")).toBeNull();
});

test("a name with the rest of its line is known for what it was meant to be", () => {
  expect(["export TIDEMARK_TO", "\ufeffTIDEMARK_TO", "TIDEMARK_TO ", '"TIDEMARK_TO'].map(plainNameOf)).toEqual(
    Array.from({ length: 4 }, () => "TIDEMARK_TO"),
  );
  expect(["TIDEMARK_TO", "PATH", "BASH_FUNC_x%%", "a b"].map(plainNameOf)).toEqual([null, null, null, null]);
});
