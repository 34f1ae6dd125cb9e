import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { folderOf, startAlone, type Alone } from "../stage/open-alone.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { addProfile, addToken } from "../stage/provision.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/** A hub refuses, waits for, or shuts out nodes that write without it below a prefix that it owns or takes over. */

const URL_OF_HUB = "https://tidemark.example.com";
let stage: Stage;
let alone: Alone;
beforeAll(async () => {
  stage = await openStage();
  alone = { dir: join(stage.dir, "alone"), store: stage.store, started: [] };
  mkdirSync(alone.dir);
});
afterAll(async () => {
  await Promise.all(alone.started.map((one) => one.stop()));
  await stage.close();
});

const said = (worker: { lines: readonly string[] }): string => worker.lines.join("\n");
const write = (folder: string, step: number): string =>
  writeCheckpoint({ folder, step, modelBytes: 500_000, optimizerBytes: 0, loss: 1 });
const TELL = `console.log("from " + process.env.TIDEMARK_RESUME_STEP)`;
const program = [process.execPath, "-e", TELL];
const tidemark = (...args: string[]) =>
  runOnce(testedWorker(), args, { env: { ...keysInEnv(stage.store), TIDEMARK_STATE: join(alone.dir, "laptop") } });
const completeOf = async (run: string) => {
  const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse(run) });
  return checkpoints.filter(({ state }) => state === "complete").map(({ step, nodeName }) => [step, nodeName]);
};
const profileOf = async (prefix: string) => {
  const profileId = await addProfile(stage.client, { name: prefix, store: stage.store, prefix: `${prefix}/` });
  return { profileId, token: await addToken(stage.client, { profileId, maxUses: 5 }) };
};

test("a hub marks the prefix that its nodes write to: who writes there without it is told where the hub is and how to go on", async () => {
  const { token } = await profileOf("owned");
  const member = await stage.startNode({ name: "member", run: "owned", token, program });
  expect(await member.exited, said(member)).toMatchObject({ code: 0 });
  const mark = `s3://${stage.store.bucket}/owned/_tidemark/hub.json`;
  expect(JSON.parse((await tidemark("cat", mark)).stdout)).toMatchObject({ format: "tidemark.hub", url: null });

  const to = `s3://${stage.store.bucket}/owned`;
  const stray = await startAlone(alone, { name: "stray", run: "owned", prefix: "owned", program: TELL });
  expect(await stray.exited).toMatchObject({ code: 4 });
  expect(said(stray)).toContain("A hub keeps checkpoints under this prefix");
  expect(said(stray)).toContain(`where it is gone for good, remove its mark (tidemark rm ${mark})`);
  expect(said(stray)).not.toContain("from ");
  // A hub that knows its address writes it into the mark.
  const addressed = join(alone.dir, "hub.json");
  writeFileSync(addressed, JSON.stringify({ format: "tidemark.hub", version: 1, url: URL_OF_HUB, markedAt: 1 }));
  expect(await tidemark("cp", addressed, mark)).toMatchObject({ code: 0 });
  const saved = await tidemark("save", write(join(alone.dir, "by-hand"), 5), "--run", "other", "--to", to);
  expect(saved).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(`it is at ${URL_OF_HUB}; where it is gone`) as string,
  });
  // Nothing was written beside the hub.
  expect((await tidemark("runs", "--to", to, "--json")).stdout).not.toContain("stray");
});

test("a hub that takes a prefix over waits for the node that writes there, and shuts it out once it has been silent for a lease", async () => {
  const own = folderOf(alone, "pioneer");
  const pioneer = await startAlone(alone, { name: "pioneer", run: "taken", prefix: "taken" });
  write(own, 1);
  await waitUntil("step 1 is safe", () => said(pioneer).includes("Safe: taken step 1"));
  // It hears nothing of the hub's mark, which would end its run at the next commit.
  process.kill(pioneer.pid, "SIGSTOP");
  const { profileId, token } = await profileOf("taken");
  const taken = await stage.client.adoptions.takeRuns.mutate({ id: profileId });
  expect(taken).toMatchObject({ writing: [{ run: "taken", node: "pioneer" }], found: { runs: 1, checkpoints: 1 } });

  const heir = await stage.startNode({ name: "heir", run: "taken", token, program });
  await waitUntil("it is told who writes", () => said(heir).includes("pioneer writes it without a hub"));
  expect(await heir.exited, said(heir)).toMatchObject({ code: 0 });
  expect(said(heir)).toContain("from 1");
  process.kill(pioneer.pid, "SIGCONT");
  write(own, 9);
  await waitUntil("it is told that it is over", () =>
    /a hub writes it now|Stopped uploading taken\./.test(said(pioneer)),
  );
  await pioneer.stop();
  expect(await completeOf("taken")).toEqual([[1, "pioneer"]]);
});
