import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { PRODUCT_VERSION } from "#protocol/base/version.ts";
import { createControlClient } from "#storage/s3/client.ts";
import { headObject } from "#storage/s3/objects.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { build } from "../gate/build.ts";
import { keysInEnv } from "../stage/keys-in-env.ts";
import type { Outcome } from "../stage/run-once.ts";
import { ROOT } from "../stage/start-process.ts";
import { type RunningStore, startStore } from "../stage/start-store.ts";
import { makePlainRoot, type PlainRoot, plainRoots } from "./plain-root.ts";

/** `dist/tidemark`, copied alone into a place without Node, without a shell and without an environment. */

const program = join(ROOT, "dist/tidemark");
let root: PlainRoot;
let store: RunningStore;
let dir: string;
beforeAll(async () => {
  await build("dist/tidemark.mjs");
  dir = mkdtempSync(join(tmpdir(), "tidemark-single-"));
  store = await startStore({ dataDir: join(dir, "store") });
});
afterAll(async () => {
  await store.stop();
  rmSync(dir, { recursive: true, force: true });
});

const withKeys = () => ({
  ...keysInEnv(store),
  AWS_REGION: "us-east-1",
  TIDEMARK_STATE: "/tmp/state",
});

const typesOf = ({ stdout }: Outcome): unknown[] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).type);

function marksOf(key: string): ReturnType<typeof headObject> {
  const { endpoint, accessKey, secretKey, bucket } = store;
  const access = { endpoint, region: "us-east-1", bucket, addressing: "path", traits: traitsOf("minio") } as const;
  const credential = { accessKeyId: accessKey, secretAccessKey: secretKey };
  return headObject(createControlClient({ access, credential }), { bucket, key });
}

describe.each(plainRoots())("the single file in $title", ({ folder }) => {
  beforeAll(() => {
    root = makePlainRoot(program, folder);
  });
  afterAll(() => root.remove());

  test("says its version and the help of a command, and nothing else", async () => {
    expect(await root.run(["version"])).toEqual({ code: 0, stdout: `${PRODUCT_VERSION}\n`, stderr: "" });
    const help = await root.run(["help", "cp"]);
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toContain("--part-size");
  });

  test("runs on the Node of this project, and carries what sends files straight from the disk and what sums them", async () => {
    const { stdout } = await root.run(["version", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      type: "version",
      node: process.version,
      sendsStraight: true,
      sumsFast: true,
    });
  });

  test("refuses a command that does not exist and names the one that was meant", async () => {
    const outcome = await root.run(["agnet"]);
    expect(outcome.code).toBe(FAULTS.BAD_INPUT.exit);
    expect(outcome.stderr).toContain("did you mean agent?");
  });

  test("copies a file of several parts to a store and back, unchanged", async () => {
    const bytes = randomBytes(12 * 1024 * 1024);
    writeFileSync(join(root.folder, "tmp/up.bin"), bytes);
    const up = await root.run(
      ["cp", "--json", "--part-size", "5MiB", "/tmp/up.bin", `s3://${store.bucket}/one/up.bin`],
      { env: withKeys() },
    );
    expect(up, up.stderr).toMatchObject({ code: 0, stderr: "" });
    expect(typesOf(up)).toEqual(expect.arrayContaining(["started", "done"]));
    const down = await root.run(["cp", "--json", `s3://${store.bucket}/one/up.bin`, "/tmp/down.bin"], {
      env: withKeys(),
    });
    expect(down, down.stderr).toMatchObject({ code: 0, stderr: "" });
    expect(readFileSync(join(root.folder, "tmp/down.bin")).equals(bytes)).toBe(true);
  });

  test("two starts are two: what was loaded when it was built holds no chance, no clock and no process", async () => {
    writeFileSync(join(root.folder, "tmp/twice.bin"), randomBytes(12 * 1024 * 1024));
    for (const key of ["twice/1", "twice/2"]) {
      const to = `s3://${store.bucket}/${key}`;
      const up = await root.run(["cp", "--part-size", "5MiB", "/tmp/twice.bin", to], { env: withKeys() });
      expect(up, up.stderr).toMatchObject({ code: 0 });
    }
    const nonces = await Promise.all(["twice/1", "twice/2"].map(async (key) => (await marksOf(key)).nonce));
    expect(new Set(nonces).size).toBe(2);
    expect(nonces).not.toContain(null);
  });

  test("sends what comes in on stdin", async () => {
    const key = `s3://${store.bucket}/one/stdin.txt`;
    const sent = await root.run(["cp", "-", key], { env: withKeys(), input: "from a pipe" });
    expect(sent, sent.stderr).toMatchObject({ code: 0 });
    expect((await root.run(["cat", key], { env: withKeys() })).stdout).toBe("from a pipe");
  });

  test("a doctor tries every right on a bucket, with the part of it that is packed away", async () => {
    const outcome = await root.run(["doctor", "--json", `s3://${store.bucket}/doctor`], { env: withKeys() });
    expect(outcome, outcome.stdout).toMatchObject({ code: 0, stderr: "" });
    expect(outcome.stdout).toContain('"check":"CompleteMultipartUpload","outcome":"ok"');
  });

  test("an agent that was told no hub says so", async () => {
    const outcome = await root.run(["agent", "--watch", "/tmp", "--state", "/tmp/state"]);
    expect(outcome.code).toBe(FAULTS.BAD_INPUT.exit);
    expect(outcome.stderr).toContain("--hub");
  });

  test("is not changed by what an image sets for its own Node", async () => {
    const env = { NODE_OPTIONS: "--require /nowhere.js", NODE_NO_WARNINGS: "" };
    expect(await root.run(["version"], { env })).toMatchObject({ code: 0, stdout: `${PRODUCT_VERSION}\n`, stderr: "" });
  });
});

test("the single file as the first process of a machine starts itself again under a shell, with its arguments", () => {
  const user = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const args = [...user, "--pid", "--fork", "--kill-child", program, "run", "--", "true"];
  const { status, stderr } = spawnSync("unshare", args, { encoding: "utf8" });
  expect(status, stderr).toBe(FAULTS.BAD_INPUT.exit);
  expect(stderr).toContain("--to s3://bucket/prefix");
});

test("the single file holds no path of the machine that built it", () => {
  const bytes = readFileSync(program);
  for (const path of [ROOT, join(tmpdir(), "tidemark-")]) expect(bytes.includes(path), path).toBe(false);
});
