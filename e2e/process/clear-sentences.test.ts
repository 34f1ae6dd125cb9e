import { commandOf } from "../stage/start-process.ts";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FAULTS, type FaultCode } from "#protocol/faults/fault-table.ts";
import { runName } from "#protocol/base/names.ts";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { faultOf } from "../stage/hub-client.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { type Outcome, runOnce } from "../stage/run-once.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { testedHub } from "../stage/start-hub.ts";
import { testedWorker } from "../stage/start-worker.ts";

/** What goes wrong on a first day gets one clear sentence, an exit code, and leaves nothing half done. */

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const MIB = 1024 * 1024;

function expectSentence(outcome: Outcome, code: FaultCode): void {
  const text = outcome.stderr + outcome.stdout;
  // The sentence may be wrapped in a box; words are compared, not line breaks.
  const plain = text
    .replace(/[│┃|]\s*$/gm, "")
    .replace(/^\s*[│┃|]/gm, "")
    .replace(/\s+/g, " ");
  expect(plain).toContain(FAULTS[code].says.replace(/\.$/, ""));
  expect(plain).not.toMatch(/\bat .*\.ts:\d+/);
  expect(outcome.code).toBe(FAULTS[code].exit);
}

describe("the worker", () => {
  const agent = (flags: string[], env: Record<string, string> = {}) =>
    runOnce(
      testedWorker(),
      ["agent", "--state", join(stage.dir, "fresh-state"), "--name", "new", "--watch", stage.dir, ...flags],
      { env },
    );

  test("with a wrong token says so", async () => {
    const outcome = await agent(["--hub", stage.hub.url], { TIDEMARK_TOKEN: "not-a-token-of-this-hub" });
    expectSentence(outcome, "TOKEN_WRONG");
  });

  test("with an unreachable hub says so", async () => {
    const outcome = await agent(["--hub", "http://127.0.0.1:9"], { TIDEMARK_TOKEN: stage.token });
    expectSentence(outcome, "HUB_UNREACHABLE");
  });

  test("refuses a hub over plain http that is not this machine", async () => {
    const outcome = await agent(["--hub", "http://hub.example.com"], { TIDEMARK_TOKEN: stage.token });
    expectSentence(outcome, "HUB_PLAIN_HTTP");
  });

  test("in a working directory that was removed says that", () => {
    const gone = join(stage.dir, "gone");
    const script = `mkdir '${gone}' && cd '${gone}' && rmdir '${gone}' && exec "$0" "$@"`;
    const watch = ["--watch", join(stage.dir, "w"), "--run", "gone", "--to", `s3://${stage.store.bucket}/gone`];
    const args = [
      ...commandOf(testedWorker()),
      "run",
      ...watch,
      "--state",
      join(stage.dir, "gone-state"),
      "--",
      "true",
    ];
    const env = { ...process.env, ...keysInEnv(stage.store), NO_COLOR: "1", CI: "true" };
    const { status, stderr } = spawnSync("sh", ["-c", script, ...args], { env, encoding: "utf8" });
    expect(stderr).toContain("the working directory: It does not exist (it was removed under this command");
    expect(status).toBe(FAULTS.NOT_FOUND.exit);
  });

  test("with an unknown flag names the nearest one", async () => {
    const outcome = await agent(["--wach", "x"]);
    expect(outcome.code).toBe(2);
    expect(outcome.stderr).toContain("--watch");
  });

  const cp = (args: string[], keys: { accessKey: string; secretKey: string }) =>
    runOnce(testedWorker(), ["cp", ...args], {
      env: { ...keysInEnv({ endpoint: stage.store.endpoint, ...keys }), AWS_REGION: "us-east-1" },
    });
  const right = () => ({ accessKey: stage.store.accessKey, secretKey: stage.store.secretKey });

  test("copying to a bucket that does not exist says so", async () => {
    const file = join(stage.dir, "file.bin");
    writeFileSync(file, "hello");
    expectSentence(await cp([file, "s3://no-such-bucket/file.bin"], right()), "NO_SUCH_BUCKET");
  });

  test("copying with a wrong key says so and leaves nothing under the final name", async () => {
    const target = join(stage.dir, "never.bin");
    const outcome = await cp([`s3://${stage.store.bucket}/x`, target], { accessKey: "wrong", secretKey: "wrong" });
    expectSentence(outcome, "BAD_CREDENTIALS");
    expect(existsSync(target)).toBe(false);
  });
});

describe("the hub", () => {
  const start = (env: Record<string, string>) =>
    runOnce(testedHub(), [], {
      env: { TIDEMARK_HOST: "127.0.0.1", TIDEMARK_NO_UI: "1", TIDEMARK_PORT: "0", ...env },
    });

  test("with its port in use says which", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const address = other.address();
    const port = String(typeof address === "object" ? address?.port : 0);
    const outcome = await start({ TIDEMARK_PORT: port, TIDEMARK_DATA: join(stage.dir, "hub-2") });
    other.close();
    expectSentence(outcome, "PORT_IN_USE");
    expect(outcome.stderr + outcome.stdout).toContain(port);
  });

  test("with arguments says that it takes none, and how it is set", async () => {
    const { code, stderr } = await runOnce("server/main.ts", ["--port", "8080"], {});
    expect([code, stderr]).toEqual([2, expect.stringMatching(/takes no arguments \(--port\).*TIDEMARK_PORT/)]);
  });

  test("with a data folder that cannot be made says so", async () => {
    const file = join(stage.dir, "a-file");
    writeFileSync(file, "");
    expectSentence(await start({ TIDEMARK_DATA: join(file, "data") }), "FOLDER_UNWRITABLE");
  });

  test("with another master key refuses to start and changes nothing", async () => {
    const data = join(stage.dir, "hub-3");
    mkdirSync(data);
    // A first start that ends by itself: its port is taken after the database was made.
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const address = other.address();
    const port = String(typeof address === "object" ? address?.port : 0);
    await start({
      TIDEMARK_DATA: data,
      TIDEMARK_PORT: port,
      TIDEMARK_SECRET: "the first secret, of forty-one characters",
    });
    other.close();
    expectSentence(
      await start({ TIDEMARK_DATA: data, TIDEMARK_SECRET: "the other secret, of forty-one characters" }),
      "MASTER_KEY_WRONG",
    );
    expectSentence(await start({ TIDEMARK_DATA: data }), "MASTER_KEY_MISSING");
    expectSentence(await start({ TIDEMARK_DATA: data, TIDEMARK_SECRET: "short" }), "MASTER_KEY_WEAK");
  });

  test("tells a wrong bucket and a wrong key apart when a profile is tested", async () => {
    const [stored] = await stage.client.profiles.list.query();
    if (stored === undefined) throw new Error("the stage has a profile");
    const lost = await stage.client.profiles.test.mutate({
      id: stored.id,
      profile: { ...stored.profile, bucket: "no-such-bucket" },
      credential: null,
    });
    expect(lost.ok).toBe(false);
    expect(lost.checks.map((check) => check.fault?.code)).toContain("NO_SUCH_BUCKET");
    const refused = await stage.client.profiles.test.mutate({
      id: null,
      profile: stored.profile,
      credential: { accessKeyId: stage.store.accessKey, secretAccessKey: "wrong-secret" },
    });
    expect(refused.checks.map((check) => check.fault?.code)).toContain("BAD_CREDENTIALS");
    const fine = await stage.client.profiles.test.mutate({ id: stored.id, profile: null, credential: null });
    expect(fine.checks.filter((check) => check.outcome === "failed" || check.outcome === "refused")).toEqual([]);
    expect(fine.ok).toBe(true);
  });

  test("answers a call without a session with a fault, not with data", async () => {
    const response = await fetch(`${stage.hub.url}/api/trpc/nodes.list`);
    expect(response.status).toBe(401);
    expect(faultOf({ data: (await response.json()).error.data })?.code).toBe("NOT_SIGNED_IN");
  });
});

test("a restore onto a full disk says so and leaves nothing under the final name", async () => {
  const run = runName.parse("tight");
  const small = join(stage.dir, "small-disk");
  mkdirSync(small);
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", small]).status === 0;
  if (!mounted) chmodSync(small, 0o500); // without the right to mount, an unwritable folder has to leave nothing either
  try {
    await stage.startNode({ name: "gpu-tight", run });
    writeCheckpoint({ folder: stage.folderOf("gpu-tight"), step: 1, modelBytes: 8 * MIB, optimizerBytes: 0, loss: 1 });
    const checkpoint = await waitComplete(stage, run);
    const { transferId } = await stage.client.restores.create.mutate({
      requestId: crypto.randomUUID(),
      checkpointId: checkpoint.id,
      nodeId: checkpoint.nodeId,
      targetPath: join(small, "checkpoint-1"),
    });
    const ended = await waitUntil("the restore ends", async () => {
      const { rows } = await stage.client.transfers.list.query({
        nodeId: checkpoint.nodeId,
        run: null,
        states: [],
        cursor: null,
        limit: 50,
      });
      return rows.find((one) => one.id === transferId && one.endedAt !== null);
    });
    expect(ended.state).toBe("failed");
    expect(ended.fault?.code).toBe(mounted ? "NO_SPACE" : "FOLDER_UNWRITABLE");
    expect(readdirSync(small)).toEqual([]);
  } finally {
    if (mounted) spawnSync("umount", [small]);
    rmSync(small, { recursive: true, force: true });
  }
});
