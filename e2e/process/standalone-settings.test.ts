import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { keysInEnv, profileInFiles } from "../stage/keys-in-env.ts";
import { closeAlone, folderOf, openAlone, type Alone } from "../stage/open-alone.ts";
import { runOnce } from "../stage/run-once.ts";
import { startWorker, testedWorker } from "../stage/start-worker.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

/** How a node without a hub is set up: by its environment alone. */

let alone: Alone;
beforeAll(async () => {
  alone = await openAlone();
});
afterAll(() => closeAlone(alone));

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
