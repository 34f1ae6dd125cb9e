import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { keysInEnv, profileInFiles } from "../stage/keys-in-env.ts";
import { closeAlone, folderOf, openAlone, startAlone, type Alone } from "../stage/open-alone.ts";
import { runOnce } from "../stage/run-once.ts";
import { type RunningImds, startImds } from "../stage/start-imds.ts";
import { startWorker, testedWorker } from "../stage/start-worker.ts";
import { armFault, readLog } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

/** How a node without a hub is set up: by its environment alone, and with thresholds for its link. */

let alone: Alone;
let imds: RunningImds;
beforeAll(async () => {
  [alone, imds] = await Promise.all([openAlone(), startImds()]);
});
afterAll(async () => {
  await Promise.all([closeAlone(alone), imds.stop()]);
});

const said = (worker: { lines: readonly string[] }): string => worker.lines.join("\n");
const stateOf = (name: string) => join(alone.dir, "nodes", name, "state");
const write = (folder: string, step: number): string =>
  writeCheckpoint({ folder, step, modelBytes: 500_000, optimizerBytes: 0, loss: 1 });
const TELL = `console.log("from " + process.env.TIDEMARK_RESUME_STEP)`;

test("TIDEMARK_TO and a profile of AWS in the environment are all that run, agent, save, restore and status need; the run has the name of the folder", async () => {
  const env = { ...profileInFiles(alone.dir, alone.store), TIDEMARK_TO: `s3://${alone.store.bucket}/by-env` };
  const start = async (name: string, program?: readonly string[]) => {
    const node = { hubUrl: null, name, stateDir: stateOf(name), watch: folderOf(alone, name), env };
    const worker = await startWorker({ ...node, ...(program !== undefined && { program }) });
    alone.started.push(worker);
    return worker;
  };
  const tidemark = (...args: string[]) => runOnce(testedWorker(), args, { env });

  const first = write(folderOf(alone, "env-1"), 10);
  const ran = await start("env-1", [process.execPath, "-e", TELL]);
  expect(await ran.exited, said(ran)).toMatchObject({ code: 0 });
  expect(said(ran)).toContain(`alone: checkpoints go to s3://${alone.store.bucket}/by-env`);
  expect(said(ran)).toContain(`Watching ${folderOf(alone, "env-1")} for checkpoints of checkpoints.`);

  const agent = await start("env-1");
  write(folderOf(alone, "env-1"), 20);
  await waitUntil("the agent has made step 20 safe", () => said(agent).includes("Safe: checkpoints step 20"));
  const asked = await tidemark("status", "--state", stateOf("env-1"));
  expect([asked.code, asked.stdout]).toEqual([0, expect.stringContaining("checkpoints: safe up to step 20")]);
  await agent.stop();

  const saved = await tidemark(
    "save",
    write(join(alone.dir, "by-hand"), 30),
    "--run",
    "hand",
    "--state",
    stateOf("hand"),
  );
  expect([saved.code, saved.stdout]).toEqual([0, expect.stringContaining("Safe: hand step 30")]);
  const target = join(alone.dir, "restored");
  expect(await tidemark("restore", "checkpoints@10", target, "--state", stateOf("laptop"))).toMatchObject({ code: 0 });
  expect(hashFolder(target)).toEqual(hashFolder(first));
  const listed = await tidemark("status", "--state", stateOf("laptop"));
  expect([listed.code, listed.stdout]).toEqual([3, expect.stringMatching(/hand: step 30[^]*checkpoints: step 20/)]);
});

test("--hub that was typed counts more than TIDEMARK_TO, and --to that was typed more than TIDEMARK_HUB", async () => {
  const place = `s3://${alone.store.bucket}/typed`;
  const typed = (args: string[], env: Record<string, string>) =>
    runOnce(testedWorker(), ["agent", "--watch", folderOf(alone, "typed"), "--state", stateOf("typed"), ...args], {
      env: { ...keysInEnv(alone.store), AWS_SECRET_ACCESS_KEY: "another", ...env },
    });
  const [hub, bucket] = await Promise.all([
    typed(["--hub", "http://hub.invalid"], { TIDEMARK_TO: place }),
    typed(["--to", place], { TIDEMARK_HUB: "http://hub.invalid" }),
  ]);
  expect(hub).toMatchObject({ code: 2, stderr: expect.stringContaining("http://hub.invalid") as string });
  expect(bucket).toMatchObject({ code: 4, stderr: expect.stringContaining("access key or its secret") as string });
});

const HARD = ["--min-up", "900Gbit", "--probe-time", "6s", "--attempts", "1"];
const EASY = ["--min-up", "1kbit", "--min-down", "1kbit", "--probe-time", "6s", "--attempts", "1"];

function startProbed(name: string, flags: string[], env: Record<string, string>) {
  return startAlone(alone, { name, run: name, prefix: "probed", program: TELL, flags, env });
}

/** A link like one over the internet: a measurement without it keeps every core busy. */
const paceProbes = async () => {
  for (const side of ["request", "response"] as const) {
    const action = { kind: "rate", side, bytesPerSecond: 2_000_000 } as const;
    await armFault(alone.store, { keyPattern: "probed/_tidemark/probe/*", action });
  }
};

test("a link that is too slow ends a worker at home, and on a platform that exchanges machines it stays, because no hub decides", async () => {
  await paceProbes();
  const home = await startProbed("home", HARD, { TIDEMARK_IMDS_URL: "http://127.0.0.1:9" });
  expect(await home.exited).toMatchObject({ code: 4 });
  expect(said(home)).toContain("The link between this machine and the store is slower than was asked for");
  expect(said(home)).not.toContain("from ");

  const env = { TIDEMARK_IMDS_URL: imds.url, SALAD_MACHINE_ID: "machine-slow" };
  const salad = await startProbed("salad", HARD, env);
  expect(await salad.exited, said(salad)).toMatchObject({ code: 0 });
  expect(said(salad)).toContain("this machine stays: this node works alone: no hub decides on that");
  expect(said(salad)).toContain("from ");
  expect(await imds.askedAt("/v1/reallocate")).toEqual([]);
});

test("a link that does what is asked of it is measured against the bucket, and nothing of that stays there", async () => {
  const fast = await startProbed("fast", EASY, { TIDEMARK_IMDS_URL: "http://127.0.0.1:9" });
  expect(await fast.exited, said(fast)).toMatchObject({ code: 0 });
  expect(said(fast)).toMatch(/Up [\d.]+ [kM]bps.*Down [\d.]+ [kM]bps.*Accepted/);
  const sent = (await readLog(alone.store)).filter(({ key }) => key.startsWith("probed/_tidemark/probe/"));
  expect(sent.length).toBeGreaterThan(0);
  const place = `s3://${alone.store.bucket}/probed/_tidemark/probe/`;
  const left = await runOnce(testedWorker(), ["ls", "-r", place], { env: keysInEnv(alone.store) });
  expect(left.stdout).toBe("");
});
