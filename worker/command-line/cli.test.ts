import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseCommandLine } from "./cli.ts";
import { resolveConfig, shownValue } from "./config.ts";
import { COMMANDS } from "./commands.ts";
import { envName, flagEntries } from "./flags.ts";
import { commandHelp, markdownReference } from "../cli/help.ts";

const detailOf = (args: string[]): string => {
  try {
    parseCommandLine(args);
  } catch (error) {
    return String(error instanceof Error ? error.message : error);
  }
  return "accepted";
};

describe("the command line", () => {
  test("an unknown flag is refused with the nearest one", () => {
    expect(detailOf(["cp", "--part-sise", "5MiB", "a", "b"])).toContain("did you mean --part-size?");
    expect(detailOf(["agent", "--wach", "x"])).toContain("did you mean --watch?");
  });
  test("an unknown command is refused with the nearest one", () => {
    expect(detailOf(["agnet"])).toContain("did you mean agent?");
  });
  test("a flag of another command is unknown", () => {
    expect(detailOf(["cp", "--watch", "x", "a", "b"])).toContain("cp has no such flag");
  });
  test("a flag without its value says which value", () => {
    expect(detailOf(["agent", "--hub"])).toContain("--hub URL");
    expect(detailOf(["agent", "--hub", "--token", "x"])).toContain("it needs a value: --hub URL");
    expect(detailOf(["run", "--watch", "--", "python"])).toContain("it needs a value: --watch DIR");
    expect(detailOf(["agent", "--hub", "--watch=/x"])).toContain("it needs a value: --hub URL");
    expect(parseCommandLine(["agent", "--watch=--token", "--name", "--no-flag"]).flags.get("watch")).toEqual([
      "--token",
    ]);
  });
  test("an empty value is refused: a folder would be the current one", () => {
    for (const args of [["--watch", ""], ["--watch="], ["--token", ""]]) {
      expect(detailOf(["agent", ...args])).toContain("its value is empty");
    }
  });
  test("a flag before the command is told where it belongs", () => {
    expect(detailOf(["--json", "status"])).toContain("flags come after the command: tidemark status --json");
    expect(detailOf(["--json"])).toContain("flags come after the command: tidemark COMMAND --json");
    expect(detailOf(["--verison"])).toContain("did you mean version?");
  });
  test("operands, values with = and the end of flags are told apart", () => {
    const { operands, flags } = parseCommandLine(["cp", "--part-size=8MiB", "--json", "a", "--", "--b"]);
    expect(operands).toEqual(["a", "--b"]);
    expect([...flags]).toEqual([
      ["part-size", ["8MiB"]],
      ["json", ["true"]],
    ]);
  });
});

describe("settings", () => {
  const resolve = (args: string[], env: Record<string, string> = {}) => {
    const { command, flags } = parseCommandLine(args);
    return resolveConfig({ command, flags, env });
  };
  test("a flag wins over its environment twin, which wins over the name other tools use, which wins over the default", () => {
    const env = { TIDEMARK_REGION: "eu-1", AWS_REGION: "us-2" };
    expect(resolve(["cp", "--region", "ap-3"], env).text("region")).toBe("ap-3");
    expect(resolve(["cp"], env).text("region")).toBe("eu-1");
    expect(resolve(["cp"], { AWS_REGION: "us-2" }).text("region")).toBe("us-2");
    expect(resolve(["cp"]).text("region")).toBeNull();
    expect(resolve(["cp"], { TIDEMARK_PROVIDER: "b2" }).text("provider")).toBe("b2");
    expect(resolve(["cp"]).text("provider")).toBe("auto");
  });
  test("each value knows its source, and secrets are masked", () => {
    const { settings } = resolve(["agent"], { TIDEMARK_TOKEN: "tm_a-long-join-token" });
    const token = settings.find(({ name }) => name === "token");
    expect(token?.source).toBe("TIDEMARK_TOKEN");
    expect(token === undefined ? "" : shownValue(token)).not.toContain("long");
  });
  test("a secret may come from a file", () => {
    const path = join(mkdtempSync(join(tmpdir(), "tidemark-token-")), "token");
    writeFileSync(path, "tm_from-a-file\n");
    expect(resolve(["agent"], { TIDEMARK_TOKEN_FILE: path }).text("token")).toBe("tm_from-a-file");
  });
  test("a value that cannot be read is refused before anything starts, by its own name", () => {
    expect(() => resolve(["cp", "--part-size", "large"])).toThrow("--part-size large");
    expect(() => resolve(["cp"], { TIDEMARK_CONCURRENCY: "0" })).toThrow("TIDEMARK_CONCURRENCY 0");
    expect(() => resolve(["cp", "--stall-after", "0"])).toThrow("--stall-after 0");
    expect(() => resolve(["agent"], { TIDEMARK_STALL_AFTER: "0s" })).toThrow("TIDEMARK_STALL_AFTER 0s");
    expect(() => resolve(["cp", "--provider", "minoi"])).toThrow("did you mean minio?");
    expect(() => resolve(["cp"], { TIDEMARK_PROVIDER: "x" })).toThrow("TIDEMARK_PROVIDER x");
    expect(() => resolve(["run", "--restart", "on-fail"])).toThrow("did you mean on-failure?");
    expect(resolve(["run", "--restart", "on-failure:5"]).text("restart")).toBe("on-failure:5");
    expect(resolve(["presign", "--method", "put"]).text("method")).toBe("put");
    expect(resolve(["cp", "--retry-for", "0"]).durationMs("retry-for")).toBe(0);
  });
  test("rates may be written per second", () => {
    expect(resolve(["cp", "--limit-up", "4MB/s"]).size("limit-up")).toBe(4_000_000);
  });
  test("help names every flag of a command and its environment twin", () => {
    const help = commandHelp("agent");
    for (const [name, spec] of flagEntries.filter(([, { commands }]) => commands.includes("agent"))) {
      expect(help).toContain(`--${name}`);
      expect(help.includes(`[${envName(name)}`)).toBe(spec.onlyFlag !== true);
      expect(help.replaceAll(/\s+/g, " ")).toContain(spec.says);
    }
  });
  test("the Markdown reference names every command, and every flag under each command that has it", () => {
    expect(parseCommandLine(["help", "--markdown"]).flags.has("markdown")).toBe(true);
    const sections = markdownReference().split("\n## ");
    for (const command of Object.keys(COMMANDS)) {
      const section = sections.find((text) => text.startsWith(`tidemark ${command}\n`)) ?? "";
      const own = flagEntries.filter(([, { commands }]) => commands.some((name) => name === command));
      expect(section.match(/^\| `--[a-z-]+/gm)).toEqual(own.length === 0 ? null : own.map(([name]) => `| \`--${name}`));
    }
  });
});

test("takes --watch of status as a switch, and of an agent as a folder", () => {
  expect(parseCommandLine(["status", "--watch"]).flags).toEqual(new Map([["live", ["true"]]]));
  expect(parseCommandLine(["agent", "--watch", "out"]).flags).toEqual(new Map([["watch", ["out"]]]));
});
