import { expect, test } from "vitest";
import { parseCommandLine } from "../command-line/cli.ts";
import { resolveConfig } from "../command-line/config.ts";
import { readBenchOptions } from "./options.ts";

const read = (...args: string[]) => {
  const { command, flags } = parseCommandLine(["bench", "s3://bucket/prefix", ...args]);
  return readBenchOptions(resolveConfig({ command, flags, env: {} }));
};

test("parts that S3 would refuse are refused with the reason", () => {
  expect(() => read("--part-size", "5MB")).toThrow("parts are 5 MiB or longer, because S3 refuses shorter ones");
  expect(read("--part-size", "5MiB")).toMatchObject({ partBytes: 5_242_880 });
});

test("a payload may be shorter than a part, and then is one object without parts", () => {
  expect(read("--size", "1MB")).toMatchObject({ sizeBytes: 1_000_000, partBytes: 10_000_000 });
});
