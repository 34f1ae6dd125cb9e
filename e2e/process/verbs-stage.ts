import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { notPromised } from "../stage/json-lines.ts";
import { ROOT, commandOf } from "../stage/start-process.ts";
import { type RunningStore, startStore } from "../stage/start-store.ts";
import { readCounters } from "../stage/store-control.ts";
import { testedWorker } from "../stage/start-worker.ts";

/** For the tests of the verbs: a store, and the real program as a person calls it. Each test has a prefix and a folder of its own. */

export const MIB = 1024 * 1024;
export let dir: string;
export let store: RunningStore;
export let round = 0;
/** A prefix and a folder of its own for every test. */
export let at: string;
export let here: string;

/** Registers what has to happen before and after the tests of a file. `flags`: of the store. */
export function useVerbs(flags: string[] = []): void {
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "tidemark-verbs-"));
    store = await startStore({ dataDir: join(dir, "store"), control: "verbs-control-token", flags });
  });
  beforeEach(() => {
    at = `s3://${store.bucket}/t${++round}`;
    here = join(dir, `t${round}`);
    mkdirSync(here);
  });
  afterAll(async () => {
    await store.stop();
    rmSync(dir, { recursive: true, force: true });
  });
}

export interface Place {
  endpoint: string;
  accessKey: string;
  secretKey: string;
}

export interface Outcome {
  code: number | null;
  out: Buffer;
  text: string;
  talk: string;
}

export function start(args: string[], place: Place = store) {
  const [verb = "", ...rest] = args;
  const state = ["cp", "sync"].includes(verb) ? ["--state", join(dir, "state")] : [];
  const [program, ...before] = commandOf(testedWorker());
  const child = spawn(program, [...before, verb, ...state, ...rest], {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "pipe"],
    env: {
      ...process.env,
      NO_COLOR: "1",
      CI: "true",
      ...keysInEnv(place),
      TIDEMARK_RETRY_FOR: "5s",
    },
  });
  child.stdin.on("error", () => undefined);
  const [out, talk]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on("data", (chunk: Buffer) => void out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => void talk.push(chunk));
  const ended = new Promise<Outcome>((resolve) => {
    child.on("close", (code) => {
      const whole = Buffer.concat(out);
      resolve({ code, out: whole, text: whole.toString(), talk: Buffer.concat(talk).toString() });
    });
  });
  return { child, ended, said: () => Buffer.concat(talk).toString() };
}

/** Runs it to its end. What it says with --json has to be what docs/json.md promises. */
export async function run(args: string[], input?: Buffer): Promise<Outcome> {
  const { child, ended } = start(args);
  child.stdin.end(input);
  const outcome = await ended;
  if (args.includes("--json")) expect(notPromised(lines(outcome))).toEqual([]);
  return outcome;
}

/** Runs what has to succeed. */
export async function does(args: string[], input?: Buffer): Promise<Outcome> {
  const outcome = await run(args, input);
  expect(outcome, outcome.talk).toMatchObject({ code: 0 });
  return outcome;
}

export const lines = (outcome: Outcome): string[] => outcome.text.split("\n").filter((line) => line !== "");

export function write(relative: string, content: string | Buffer, folder = here): string {
  const path = join(folder, relative);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

export function tree(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

export const keysOf = async (address: string): Promise<string[]> => {
  const listed = await run(["ls", "--recursive", "--json", `${address}/`]);
  if (listed.code === 3) return [];
  return lines(listed)
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === "object")
    .map(({ key }: { key: string }) => key.split("/").slice(1).join("/"));
};

const WRITES = ["PutObject", "CopyObject", "CreateMultipartUpload", "UploadPart", "DeleteObject", "DeleteObjects"];
export async function writesSoFar(): Promise<number> {
  const { targets } = await readCounters(store);
  return targets.filter(({ operation }) => WRITES.includes(operation)).reduce((sum, { requests }) => sum + requests, 0);
}
