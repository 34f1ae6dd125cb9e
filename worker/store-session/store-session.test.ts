import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseCommandLine } from "../command-line/cli.ts";
import { resolveConfig } from "../command-line/config.ts";
import { createTerminal } from "../command-line/terminal.ts";
import { warmAll, withStoreSession, type Bound } from "./store-session.ts";
import type { CommandContext } from "../command-line/command-context.ts";

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "tidemark-bench-"));
});
afterEach(() => rm(state, { recursive: true, force: true }));

const ENDPOINT = "http://127.0.0.1:9";
const FOUND = { width: 37, bytesPerSecond: 9_000_000 };

function contextWith(flags: string[] = [], endpoint = ENDPOINT): CommandContext {
  const { flags: given } = parseCommandLine(["cp", "--state", state, ...flags, "a", "b"]);
  const env = { AWS_ENDPOINT_URL: endpoint, AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" };
  const streams = { out: () => undefined, talk: () => undefined, isTty: false, columns: 0, rows: 0 };
  return {
    config: resolveConfig({ command: "cp", flags: given, env }),
    operands: [],
    terminal: createTerminal(streams, { json: false, plain: true }),
    signal: new AbortController().signal,
    home: null,
    output: async () => undefined,
    input: () => Readable.from([]),
  };
}

const bound: Bound = { bucket: "runs", direction: "down" };
const widthOf = (context: CommandContext, about: Bound = bound) =>
  withStoreSession(context, about, async ({ engine }) => engine.semaphore.width);

/** A copy that finds 37 connections to be best. */
const copyAndFind = (context: CommandContext, work: () => Promise<void> = async () => undefined) =>
  withStoreSession(context, bound, async ({ engine }) => {
    engine.controller.best = () => FOUND;
    await work();
  });

test("a second copy begins with what the first one found, to that bucket and in that direction only", async () => {
  const before = await widthOf(contextWith());
  await copyAndFind(contextWith());
  expect(before).not.toBe(37);
  expect(await widthOf(contextWith())).toBe(37);
  expect(await widthOf(contextWith(), { bucket: "other", direction: "down" })).toBe(before);
  expect(await widthOf(contextWith(), { bucket: "runs", direction: "up" })).toBe(before);
  expect(await widthOf(contextWith([], "http://127.0.0.1:10"))).toBe(before);
});

test("what was found is used within --concurrency", async () => {
  await copyAndFind(contextWith());
  expect(await widthOf(contextWith(["--concurrency", "3"]))).toBe(3);
});

test.each([[["--limit-down", "1MB"]], [["--concurrency", "5"]], [["--household"]]])(
  "nothing is learned of the link under %s",
  async (flags) => {
    const before = await widthOf(contextWith());
    await copyAndFind(contextWith(flags));
    expect(await widthOf(contextWith())).toBe(before);
  },
);

test("nothing is learned of the link from a copy that failed, and nothing is left behind by one that only says what it would do", async () => {
  const failed = copyAndFind(contextWith(), () => Promise.reject(new Error("it failed")));
  await expect(failed).rejects.toThrow("it failed");
  await copyAndFind(contextWith(["--dry-run"]));
  expect(await readdir(state)).toEqual([]);
});

test("a limit by time of day holds for a copy", async () => {
  const rate = await withStoreSession(
    contextWith(["--limit-down", "00:00-12:00=2MB,12:00-00:00=2MB"]),
    bound,
    async (storeSession) => {
      return storeSession.engine.limiter.bytesPerSecond;
    },
  );
  expect(rate).toBe(2_000_000);
});

test("a provider is known by its address, and its region with it", async () => {
  const context = contextWith([], "https://s3.eu-central-1.wasabisys.com");
  const access = await withStoreSession(context, bound, async (storeSession) => storeSession.access);
  expect(access).toMatchObject({ region: "eu-central-1", addressing: "path", traits: { checksum: "md5" } });
});

test("who can ask for more at once is told of a store that is far, and not of a near one", async () => {
  const told: number[] = [];
  await withStoreSession(contextWith(["--concurrency", "6"]), bound, async ({ engine, ...rest }) => {
    let rttMs: number | null = null;
    const warmed: number[] = [];
    const httpClient = {
      ...engine.httpClient,
      rttMs: () => rttMs,
      warm: (_: string, count: number) => void warmed.push(count),
    };
    let open: (width: number) => void = () => undefined;
    const controller = { ...engine.controller, expect: (_: unknown, opening: typeof open) => void (open = opening) };
    warmAll({ ...rest, engine: { ...engine, httpClient, controller } }, (width) => void told.push(width));
    open(6);
    rttMs = 5;
    open(6);
    expect(told).toEqual([]);
    rttMs = 120;
    open(24);
    expect(warmed).toEqual([6, 6, 24]);
  });
  expect(told).toEqual([24]);
});
