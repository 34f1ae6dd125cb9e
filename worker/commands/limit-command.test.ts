import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseCommandLine } from "../command-line/cli.ts";
import { resolveConfig } from "../command-line/config.ts";
import { createTerminal } from "../command-line/terminal.ts";
import { setLimitsOfMachine } from "./limit-command.ts";
import { readLimits } from "../limits/read-limits.ts";
import { readSetLimits } from "../limits/set-limits.ts";

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "tidemark-limit-"));
});
afterEach(() => rm(state, { recursive: true, force: true }));

const configOf = (args: readonly string[], env = {}) => resolveConfig({ ...parseCommandLine(args), env });

async function limit(...args: string[]): Promise<string> {
  let said = "";
  const streams = { out: (text: string) => (said += text), talk: () => undefined, isTty: false, columns: 0, rows: 0 };
  const terminal = createTerminal(streams, { plain: true, json: args.includes("--json") });
  const config = configOf(["limit", "--state", state, ...args]);
  expect(await setLimitsOfMachine({ config, terminal, home: null })).toBe(0);
  return said.trim();
}

test("each direction is set on its own, shown, and taken back", async () => {
  expect(await limit()).toBe("No limit is set: workers keep to those they were started with.");
  expect(await limit("--up", "4MB")).toMatch(/^Up: 4.0 MB\/s. Down: as the worker was started. Workers/);
  await limit("--down", "08:00-18:00=2MB,off");
  expect(await readSetLimits(state)).toEqual({ up: "4MB", down: "08:00-18:00=2MB,off" });
  expect(await limit("--up", "off")).toMatch(/^Up: no limit. Down: 08:00-18:00=2MB,off./);
  expect(JSON.parse(await limit("--json"))).toMatchObject({ type: "limits", up: "off", down: "08:00-18:00=2MB,off" });
  await limit("--reset");
  expect(await readdir(state)).toEqual([]);
});

test("to take back and to set at once is refused, and nothing is changed", async () => {
  await limit("--up", "4MB");
  for (const flags of [["--up", "3M"], ["--down=3M"]]) {
    await expect(limit("--reset", ...flags)).rejects.toMatchObject({ code: "BAD_INPUT" });
  }
  expect(await readSetLimits(state)).toEqual({ up: "4MB", down: null });
});

test("a limit nobody understands is refused with the flag's name before anything is set", async () => {
  expect(() => configOf(["limit", "--up", "quick"])).toThrow(
    expect.objectContaining({ code: "BAD_INPUT", context: expect.objectContaining({ subject: "--up quick" }) }),
  );
});

test("a worker reads its limits from flags and environment", () => {
  const limits = readLimits(
    configOf(["cp", "--household", "a", "b", "--limit-up", "08:00-18:00=2MB,1MB"], { TIDEMARK_LIMIT_DOWN: "3MB/s" }),
  );
  expect(limits.up.windows).toEqual([{ from: 480, to: 1080, bytesPerSecond: 2_000_000 }]);
  expect(limits.down.otherwiseBytesPerSecond).toBe(3_000_000);
  expect(limits.shareForOthers).toBe(0);
  expect(readLimits(configOf(["ls", "s3://bucket"])).shareForOthers).toBeNull();
});

test.each([
  [["--household", "20%"], {}, 0.2],
  [["--household=20%"], {}, 0.2],
  [["--household=off"], { TIDEMARK_HOUSEHOLD: "on" }, null],
  [[], { TIDEMARK_HOUSEHOLD: "5" }, 0.05],
  [[], {}, null],
])("household %j %j leaves %j", (args, env, share) => {
  expect(readLimits(configOf(["agent", ...args], env)).shareForOthers).toBe(share);
});

test.each([["--household=150%"], ["--household=much"], ["--time-zone=Mars"]])("%s is refused", (flag) => {
  expect(() => configOf(["cp", "a", "b", flag])).toThrow(expect.objectContaining({ code: "BAD_INPUT" }));
});
