import { chmodSync, readdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { ENGINE_NAMES, type EngineName } from "#protocol/benchmarks/engines.ts";
import { installEngines } from "../servers/install-engines.ts";
import { armFault, clearFaults } from "../stage/store-control.ts";
import { run, at, here, keysOf, lines, store, useVerbs, write, type Outcome } from "./verbs-stage.ts";

/** `tidemark bench` with the real programs that can be had here, a few megabytes each. */

useVerbs();

const INSTALL_LIMIT_MS = 25 * 60_000;
let able: readonly EngineName[] = [];

beforeAll(async () => {
  const engines = await installEngines();
  able = engines.able;
  for (const [name, value] of Object.entries(engines.env)) vi.stubEnv(name, value);
}, INSTALL_LIMIT_MS);
// Other files run in this process.
afterAll(() => void vi.unstubAllEnvs());

beforeEach(() => clearFaults(store));

const SMALL = ["--size", "12MB", "--part-size", "5MiB", "--concurrency", "3", "--seed", "7"];
const bench = (...args: string[]): Promise<Outcome> =>
  run(["bench", at, ...SMALL, "--scratch", join(here, "scratch"), ...args]);
const rowsOf = (outcome: Outcome, type: string): Record<string, unknown>[] =>
  lines(outcome)
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter((row) => row["type"] === type);
/** How each engine failed; null: it did not. */
const codesOf = (outcome: Outcome) =>
  Object.fromEntries(
    rowsOf(outcome, "case").map(({ engine, fault }) => [engine, (fault as { code: string } | null)?.code ?? null]),
  );
const uploadsLeft = (outcome: Outcome) =>
  rowsOf(outcome, "note").filter(({ sentence }) => /may still be/.test(String(sentence)));

test("every engine that is here moves the bytes both ways, and nothing is left behind", async () => {
  const outcome = await bench("--json");
  expect(rowsOf(outcome, "case").filter(({ fault }) => fault !== null)).toEqual([]);
  expect(outcome.code).toBe(0);
  const done = rowsOf(outcome, "case").map(({ engine, direction }) => `${String(engine)} ${String(direction)}`);
  const wanted = able.flatMap((name) => (name === "aria2" ? [`${name} down`] : [`${name} up`, `${name} down`]));
  expect(done.toSorted()).toEqual(wanted.toSorted());
  const absent = rowsOf(outcome, "engine").filter(({ version }) => version === null);
  expect(absent.map(({ engine }) => engine)).toEqual(ENGINE_NAMES.filter((name) => !able.includes(name)));
  for (const { missing: why } of absent) expect(String(why).length).toBeGreaterThan(10);
  expect(await keysOf(at)).toEqual([]);
  expect(uploadsLeft(outcome)).toEqual([]);
  expect(readdirSync(join(here, "scratch"))).toEqual([]);
  const [result] = rowsOf(outcome, "bench");
  expect(result).toMatchObject({ failed: 0, cases: wanted.length, sizeBytes: 12_000_000, seed: 7 });
  expect(outcome.text).not.toContain(store.secretKey);
});

test("the same seed gives the same order, and the tables name every engine", async () => {
  const order = async () =>
    rowsOf(await bench("--engines", "tidemark,sdk", "--rounds", "2", "--json"), "case").map(
      ({ engine, direction, round }) => `${String(engine)} ${String(direction)} ${String(round)}`,
    );
  expect(await order()).toEqual(await order());
  const { text, code } = await bench("--engines", "sdk,tidemark-auto", "--directions", "down");
  expect(code).toBe(0);
  expect(text).toMatch(/Maximum down .*bps/);
  expect(text).not.toContain("Maximum up");
  expect(text).toMatch(/^AWS SDK \(JavaScript\) .*%/m);
  expect(text).toMatch(/^Tidemark, by itself .*%/m);
  expect(text).toContain("order of seed 7");
});

test("a byte that is flipped on its way is a failed case of whoever did not notice", async () => {
  const silent = able.filter((name) => name === "s5cmd" || name === "aria2");
  const engines = silent.length > 0 ? silent : (["sdk"] as const);
  await armFault(store, { op: "GetObject", action: { kind: "flip", side: "response", offset: 100 } });
  const outcome = await bench("--engines", engines.join(","), "--directions", "down", "--json");
  const codes = rowsOf(outcome, "case").map(({ fault }) => (fault as { code: string } | null)?.code);
  expect(codes.length === 0 ? rowsOf(outcome, "fault").map(({ code }) => code) : codes).toEqual(
    engines.map(() => "CHECKSUM_MISMATCH"),
  );
  expect(outcome.code).toBe(6);
});

test("what the store refuses is the same fault whichever engine was refused", async () => {
  const action = { kind: "error", status: 403, code: "AccessDenied", body: "xml" };
  await armFault(store, { op: "GetObject", action });
  const outcome = await bench("--directions", "down", "--json", "--time-limit", "5m");
  expect(codesOf(outcome)).toEqual(Object.fromEntries(able.map((name) => [name, "ACCESS_DENIED"])));
  expect(outcome.code).toBe(4);
});

test("a named engine that is not there ends it before anything is sent, and says how it is got", async () => {
  const outcome = await bench("--engines", "tidemark,uplink", "--json");
  expect(outcome.code).toBe(3);
  expect(rowsOf(outcome, "fault")[0]).toMatchObject({ code: "ENGINE_MISSING", subject: "Storj uplink" });
  expect(rowsOf(outcome, "case")).toEqual([]);
});

test("what takes longer than it may has failed, the others go on, and nothing stays", async () => {
  const slow = write("bin/s5cmd", `#!/bin/sh\n[ "$1" = version ] && echo v9.9.9 && exit\nsleep 300\n`);
  chmodSync(slow, 0o755);
  const before = process.env["PATH"];
  process.env["PATH"] = [dirname(slow), before].join(delimiter);
  try {
    const outcome = await bench("--engines", "s5cmd,sdk", "--directions", "up", "--time-limit", "30s", "--json");
    expect(codesOf(outcome)).toEqual({ s5cmd: "ENGINE_TIME_LIMIT", sdk: null });
    expect(outcome.code).toBe(8);
    expect(await keysOf(at)).toEqual([]);
  } finally {
    process.env["PATH"] = before;
  }
});
