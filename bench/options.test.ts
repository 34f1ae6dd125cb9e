import { describe, expect, it } from "vitest";
import { BenchError } from "./bench-error.ts";
import { CASES } from "./cases.ts";
import { readOptions } from "./options.ts";

describe("the options of a benchmark", () => {
  it("are every case, both ways, three rounds, when nothing is said", () => {
    const options = readOptions([]);
    expect(options.cases).toEqual(CASES);
    expect(options.directions).toEqual(["up", "down"]);
    expect(options.repeat).toBe(3);
    expect(options.tools).toContain("rclone");
    expect(options.tools).not.toContain("other");
  });

  it("choose cases, tools, direction, rounds and size", () => {
    const options = readOptions("wan-120 --tools tidemark,raw --direction up --repeat 7 --size 20".split(" "));
    expect(options.cases.map(({ name }) => name)).toEqual(["wan-120"]);
    expect(options).toMatchObject({
      tools: ["tidemark", "raw"],
      directions: ["up"],
      repeat: 7,
      sizeBytes: 20_000_000,
    });
  });

  it.each([
    [["wan-999"], 'no case "wan-999"'],
    [["--tools", "curl"], 'no tool "curl"'],
    [["--direction", "left"], 'not "left"'],
    [["--repeat", "0"], 'not "0"'],
    [["--fast"], "--fast"],
  ])("refuse %j and name it", (args, sentence) => {
    expect(() => readOptions(args)).toThrow(sentence);
  });

  it("name every case in one sentence when a case is unknown", () => {
    const names = CASES.map(({ name }) => name).join(", ");
    expect(() => readOptions(["wan-999"])).toThrow(new BenchError(`There is no case "wan-999". Cases: ${names}.`));
  });

  it("never keep results of a changed size", () => {
    expect(() => readOptions(["--save", "--size", "20"])).toThrow("leave --size out");
  });
});
