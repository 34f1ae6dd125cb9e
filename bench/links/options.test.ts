import { describe, expect, it } from "vitest";
import { partsOf, readLinksOptions } from "./options.ts";

describe("the options of the emulated fleet", () => {
  it("are twenty nodes and the guide's engines beside Tidemark, with one node killed", () => {
    expect(readLinksOptions([])).toEqual({
      nodes: 20,
      bytes: 27_000_000,
      seed: 7,
      engines: ["tidemark", "sdk", "boto3", "rclone"],
      perBucket: 2,
      kill: "one",
      save: false,
    });
  });

  it.each([
    [["--nodes", "0"], 'not "0"'],
    [["--engines", "curl"], '"curl"'],
    [["--size", "1"], "from 6"],
    [["--fast"], "--fast"],
  ])("refuse %j and name it", (args, sentence) => {
    expect(() => readLinksOptions(args)).toThrow(sentence);
  });

  it("cut a case into parts that all go at once and that every store takes", () => {
    for (const bytes of [6e6, 27e6, 300e6]) {
      const { partBytes, connections } = partsOf(bytes);
      expect(partBytes).toBeGreaterThanOrEqual(5_242_880);
      expect(Math.ceil(bytes / partBytes)).toBe(connections);
    }
  });
});
