import { PutBucketVersioningCommand } from "@aws-sdk/client-s3";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { closeAlone, folderOf, openAlone, startAlone, type Alone } from "../stage/open-alone.ts";
import { clientOf } from "../stage/odd-objects.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { setClock } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

/** `--keep`: the writer of a run removes what no rule keeps, a day after it moved it to the trash. */

let alone: Alone;
beforeAll(async () => {
  alone = await openAlone();
});
afterAll(() => closeAlone(alone));

const place = () => `s3://${alone.store.bucket}/kept`;
const tidemark = (...args: string[]) =>
  runOnce(testedWorker(), args, { env: { ...keysInEnv(alone.store), TIDEMARK_STATE: join(alone.dir, "laptop") } });
const write = (step: number): string =>
  writeCheckpoint({
    folder: folderOf(alone, "trainer"),
    step,
    modelBytes: 500_000,
    optimizerBytes: 500_000,
    loss: 1 / step,
  });
const objects = async (): Promise<string[]> =>
  (await tidemark("ls", "-r", place())).stdout.split("\n").filter((line) => line !== "");
const attempts = async () =>
  new Set((await objects()).flatMap((line) => /kept\/runs\/[^/]+\/e\d+\/[^/]+\//.exec(line)?.[0] ?? [])).size;

test("rules are applied after commits, never to the newest, and what they remove is gone a day later", async () => {
  const node = await startAlone(alone, {
    name: "trainer",
    run: "llama",
    prefix: "kept",
    flags: ["--keep", "last=1,best=loss:max"],
  });
  const said = (text: string) => waitUntil(`it says ${text}`, () => node.lines.join("\n").includes(text));
  const paths = new Map([1, 2, 3].map((step) => [step, ""]));
  for (const step of paths.keys()) {
    paths.set(step, write(step));
    await waitUntil(`step ${step} is complete`, async () =>
      (await tidemark("runs", "--to", place())).stdout.includes(`llama: step ${step},`),
    );
  }
  // The loss of the first is the highest.
  await said("Moved step 2 of llama to the trash, by --keep");
  expect((await tidemark("runs", "--to", place())).stdout).toContain("2 checkpoints");
  expect(await attempts()).toBe(3);
  const target = join(alone.dir, "out", "trashed");
  expect(await tidemark("restore", "llama@2", target, "--to", place())).toMatchObject({ code: 0 });
  expect(hashFolder(target)).toEqual(hashFolder(paths.get(2) ?? ""));

  const client = clientOf(alone.store);
  const VersioningConfiguration = { Status: "Enabled" } as const;
  await client.send(new PutBucketVersioningCommand({ Bucket: alone.store.bucket, VersioningConfiguration }));
  client.destroy();
  await setClock(alone.store, 25 * 3_600_000);
  write(4);
  await said("Deleted step 2 of llama, by --keep; the bucket keeps them as old versions, so nothing is freed");
  await said("Moved step 3 of llama to the trash, by --keep");
  // Steps 1 and 4, and step 3 in the trash.
  expect(await attempts()).toBe(3);
  expect(await tidemark("restore", "llama@2", join(alone.dir, "out", "gone"), "--to", place())).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("no complete checkpoint of step 2") as string,
  });
  expect(await tidemark("restore", "llama@1", join(alone.dir, "out", "best"), "--to", place())).toMatchObject({
    code: 0,
  });
  await node.stop();
});

test("rules with a hub, and rules that are none, are refused with what to do", async () => {
  const watch = ["--watch", folderOf(alone, "bad")];
  const [hub, rules] = await Promise.all([
    tidemark("agent", ...watch, "--hub", "http://127.0.0.1:1", "--keep", "last=1"),
    tidemark("agent", ...watch, "--to", place(), "--keep", "newest=1"),
  ]);
  expect(hub).toMatchObject({ code: 2, stderr: expect.stringContaining("its page of the run") as string });
  expect(rules).toMatchObject({ code: 2, stderr: expect.stringContaining('"newest=1" is no rule') as string });
});
