import { describe, expect, it } from "vitest";
import { readConfig } from "./config.ts";

const keys = ["--access-key", "K", "--secret-key", "S"];

describe("the command line", () => {
  it("becomes a configuration, with keys from the environment where it gives none", () => {
    const env = { TIDEMARK_STORE_ACCESS_KEY: "EK", TIDEMARK_STORE_SECRET_KEY: "ES" };
    const result = readConfig(
      ["--data", "d", "--port", "9000", "--bucket", "first", "--bucket", "second", "--rate-up", "5"],
      env,
    );
    expect(result).toMatchObject({
      config: {
        dataFolder: "d",
        port: 9000,
        host: "127.0.0.1",
        buckets: ["first", "second"],
        accessKey: "EK",
        secretKey: "ES",
        controlToken: undefined,
        durability: "power-cut",
        upBytesPerSecond: 5,
        downBytesPerSecond: undefined,
      },
    });
  });

  it.each([
    [[...keys], /--data DIR is missing/],
    [["--data", "d"], /needs a key pair.*TIDEMARK_STORE_ACCESS_KEY/],
    [["--data", "d", ...keys, "--port", "70000"], /--port must be a number from 0 to 65535/],
    [
      ["--data", "d", ...keys, "--bucket", "Bad_Name"],
      /--bucket "Bad_Name" is not possible\. A bucket name has lower-case/,
    ],
    [["--data", "d", ...keys, "--rate-down", "0"], /--rate-up and --rate-down/],
    [["--data", "d", ...keys, "--quirks", "odd"], /The quirk "odd" is not known/],
    [["--data", "d", ...keys, "--fill", "bulk/"], /--fill is a prefix and a count.*not "bulk\/"/],
    [["--data", "d", ...keys, "--what"], /Unknown option '--what'[\s\S]*Usage:/],
  ])("%j is answered with a sentence", (argv, sentence) => {
    expect(readConfig(argv, {})).toEqual({ problem: expect.stringMatching(sentence) });
  });
});
