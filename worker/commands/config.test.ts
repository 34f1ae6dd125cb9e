import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import type { CommandName } from "../command-line/commands.ts";
import { envName, flagEntries, flagsOf } from "../command-line/flags.ts";
import { limitsFile, writeSetLimits } from "../limits/set-limits.ts";
import { createTerminal } from "../command-line/terminal.ts";
import { showSettings } from "./config.ts";

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), "tidemark-config-"));
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

interface Row {
  command: string | null;
  env: string;
  value: string;
  source: string | null;
  fault: { code: string; detail?: string } | null;
}

async function show(topic: CommandName | null, env: Record<string, string> = {}, json = true) {
  let out = "";
  let talk = "";
  const streams = {
    out: (text: string) => (out += text),
    talk: (text: string) => (talk += text),
    isTty: false,
    columns: 0,
    rows: 0,
  };
  const terminal = createTerminal(streams, { plain: true, json });
  const code = await showSettings({ topic, env: { TIDEMARK_STATE: state, ...env }, home: null, terminal });
  const rows: Row[] = json
    ? out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
    : [];
  return { code, out, talk, rows, of: (variable: string) => rows.find((row) => row.env === variable) };
}

test("without a word every setting of every command is shown once", async () => {
  const { code, rows } = await show(null);
  expect(code).toBe(0);
  const wanted = flagEntries.filter(([, { onlyFlag }]) => onlyFlag !== true).map(([name]) => envName(name));
  expect(rows.map((row) => row.env).toSorted()).toEqual(wanted.toSorted());
  const own = (await show("presign")).rows.map((row) => row.env);
  expect(own).toEqual(
    flagsOf("presign")
      .filter(([, { onlyFlag }]) => onlyFlag !== true)
      .map(([name]) => envName(name)),
  );
});

test("a limit that was set while workers run is the value that holds", async () => {
  await writeSetLimits(state, { up: "3M", down: null });
  const env = { TIDEMARK_LIMIT_UP: "1M", TIDEMARK_LIMIT_DOWN: "2M" };
  for (const topic of ["agent", "cp", null] as const) {
    const seen = await show(topic, env);
    expect(seen.of("TIDEMARK_LIMIT_UP")).toMatchObject({ value: "3M", source: limitsFile(state) });
    expect(seen.of("TIDEMARK_LIMIT_DOWN")).toMatchObject({ value: "2M", source: "TIDEMARK_LIMIT_DOWN" });
  }
  // It keeps no state, and follows nothing.
  await writeSetLimits(state, { up: null, down: "3M" });
  expect((await show("cat", env)).of("TIDEMARK_LIMIT_DOWN")).toMatchObject({ value: "2M" });
});

test("one that cannot be read hides no other, and what is wrong is said beside it", async () => {
  const env = { TIDEMARK_PART_SIZE: "large", TIDEMARK_TOKEN_FILE: join(state, "nothing"), TIDEMARK_REGION: "eu-1" };
  for (const topic of ["agent", null] as const) {
    const seen = await show(topic, env);
    expect(seen.code).toBe(FAULTS.BAD_INPUT.exit);
    expect(seen.of("TIDEMARK_PART_SIZE")).toMatchObject({
      value: "large",
      source: "TIDEMARK_PART_SIZE",
      fault: { code: "BAD_INPUT", subject: "TIDEMARK_PART_SIZE large" },
    });
    expect(seen.of("TIDEMARK_TOKEN")).toMatchObject({ value: "(not set)", source: "TIDEMARK_TOKEN_FILE" });
    expect(seen.of("TIDEMARK_STATE")).toMatchObject({ value: state, fault: null });
  }
  expect((await show(null, env)).of("TIDEMARK_REGION")).toMatchObject({ value: "eu-1" });
  const { out } = await show("agent", env, false);
  expect(out).toMatch(/^agent {2}TIDEMARK_PART_SIZE +large {2}\(TIDEMARK_PART_SIZE\)\n +.*TIDEMARK_PART_SIZE large/m);
});

test("a secret is masked, also one that is no good", async () => {
  const { out } = await show(null, { TIDEMARK_TOKEN: "tm_a-long-join-token", AWS_SECRET_ACCESS_KEY: "short" }, false);
  expect(out).not.toMatch(/long-join|short/);
});

test("variables that nothing reads are said, with those that were meant", async () => {
  const { code, talk, out } = await show(null, { TIDEMARK_PART_SISE: "8MiB" }, false);
  expect(code).toBe(0);
  expect(talk).toBe("Nothing reads TIDEMARK_PART_SISE (did you mean TIDEMARK_PART_SIZE?).\n");
  expect(out).not.toContain("SISE");
  expect((await show(null, {}, false)).talk).toBe("");
});
