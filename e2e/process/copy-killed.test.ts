import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { type RunningProcess, startProcess } from "../stage/start-process.ts";
import { type RunningStore, startStore } from "../stage/start-store.ts";
import { readCounters } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { testedWorker } from "../stage/start-worker.ts";

const MIB = 1024 * 1024;
const content = randomBytes(64 * MIB + 77);
let dir: string;
let store: RunningStore;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "tidemark-copy-"));
  store = await startStore({ dataDir: join(dir, "store"), control: "copy-control-token" });
  writeFileSync(join(dir, "model.bin"), content);
  mkdirSync(join(dir, "into"));
});
afterAll(async () => {
  await store.stop();
  rmSync(dir, { recursive: true, force: true });
});

const cp = (args: string[]): Promise<RunningProcess> =>
  startProcess({
    title: "cp",
    entry: testedWorker(),
    args: ["cp", "--state", join(dir, "state"), "--part-size", "5MiB", "--concurrency", "3", ...args],
    env: keysInEnv(store),
  });

/** Connections that a killed program left, of which the store has not read everything yet. */
function unread(): number {
  if (process.platform !== "linux") return 0;
  const port = `:${store.port.toString(16).toUpperCase().padStart(4, "0")}`;
  const CLOSE_WAIT = "08";
  return readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = "", , state]) => local.endsWith(port) && state === CLOSE_WAIT).length;
}

/** Waits for something that a copy does. @throws Error with what it said when it ends before that */
async function whileAtWork(copy: RunningProcess, done: Promise<unknown>): Promise<void> {
  const ended = copy.exited.then(({ code }) => {
    throw new Error(`the copy ended with ${code}:\n${copy.lines.join("\n")}`);
  });
  await Promise.race([done, ended]);
  ended.catch(() => undefined);
}

let uploads = 0;
const keyOfLast = () => `model-${uploads}.bin`;

test("a copy killed on its way up goes on, and sends no stored part again", async () => {
  uploads += 1;
  const key = keyOfLast();
  const args = [join(dir, "model.bin"), `s3://${store.bucket}/${key}`];
  const targets = async (op: string) => (await readCounters(store, op)).targets.filter((one) => one.key === key);
  const stored = async () => (await targets("UploadPart")).filter((one) => one.succeeded > 0);
  let before = await stored();
  /** A part may be sent twice beside itself when it is late; once it is stored it may not be sent at all. */
  const assertNoneAgain = async () => {
    const after = new Map((await targets("UploadPart")).map((one) => [one.partNumber, one.requests]));
    expect(before.map(({ partNumber }) => after.get(partNumber))).toEqual(before.map(({ requests }) => requests));
  };
  for (let kills = 1; kills <= 3; kills++) {
    const copy = await cp(["--limit-up", "16MB", ...args]);
    await whileAtWork(
      copy,
      waitUntil("parts are stored", async () => (await stored()).length >= 2 * kills),
    );
    await copy.stop("SIGKILL");
    // What the kernel had of a part at that moment still arrives: whoever asks before that cannot know of it.
    await waitUntil("nothing is under way", async () => unread() === 0 && (await readCounters(store)).inFlight === 0);
    await assertNoneAgain();
    before = await stored();
    expect(before.length).toBeGreaterThanOrEqual(2 * kills);
    expect(await targets("CompleteMultipartUpload")).toEqual([]);
  }
  const last = await cp(args);
  expect(await last.exited).toEqual({ code: 0, signal: null });
  await assertNoneAgain();
  expect(await stored()).toHaveLength(13);
});

test("a copy killed on its way down leaves nothing under the final name, and goes on", async () => {
  const target = join(dir, "into/model.bin");
  const args = [`s3://${store.bucket}/${keyOfLast()}`, target];
  const journal = () => readdirSync(join(dir, "state/copies")).map((name) => join(dir, "state/copies", name))[0];
  const piece = z.object({ at: z.number(), crc32: z.string(), part: z.undefined().optional() });
  /** Whole pieces, each once: a piece that was begun has lines of its own, and one may come twice. */
  const remembered = () => {
    const lines = readFileSync(journal() ?? "/dev/null", "utf8")
      .split("\n")
      .slice(0, -1);
    const found = lines.map((line) => piece.safeParse(JSON.parse(line.slice(9))));
    return new Set(found.flatMap(({ success, data }) => (success ? [data.at] : []))).size;
  };
  for (let kills = 1; kills <= 3; kills++) {
    const copy = await cp(["--limit-down", "4MB", ...args]);
    await whileAtWork(
      copy,
      waitUntil("pieces are remembered", () => remembered() >= 2 * kills),
    );
    await copy.stop("SIGKILL");
    expect(existsSync(target)).toBe(false);
  }
  const before = remembered();
  const last = await cp(["--json", ...args]);
  expect(await last.exited).toEqual({ code: 0, signal: null });
  const done: unknown = JSON.parse(last.lines.findLast((line) => line.includes('"done"')) ?? "{}");
  expect(done).toMatchObject({ bytes: content.length, sentBytes: content.length - before * 5 * MIB });
  expect(readFileSync(target).equals(content)).toBe(true);
  expect(readdirSync(join(dir, "into"))).toEqual(["model.bin"]);
});
