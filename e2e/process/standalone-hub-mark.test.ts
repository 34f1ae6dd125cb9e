import { join } from "node:path";
import { expect, test } from "vitest";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { folderOf, startAlone, type Alone } from "../stage/open-alone.ts";
import { openStage } from "../stage/open-stage.ts";
import { addProfile } from "../stage/provision.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/** A hub marks a prefix as soon as it has a profile for it, and a node without a hub that writes there stops. */

test("a node stops at its next commit once a hub has a profile for its prefix, and says how to go on", async () => {
  const stage = await openStage();
  const alone: Alone = { dir: join(stage.dir, "alone"), store: stage.store, started: [] };
  try {
    const place = `s3://${stage.store.bucket}/mine`;
    const tidemark = (...args: string[]) =>
      runOnce(testedWorker(), args, {
        env: { ...keysInEnv(stage.store), TIDEMARK_STATE: join(alone.dir, "laptop") },
      });
    const write = (step: number) =>
      writeCheckpoint({
        folder: folderOf(alone, "pioneer"),
        step,
        modelBytes: 100_000,
        optimizerBytes: 1_000,
        loss: 1,
      });
    const pioneer = await startAlone(alone, { run: "grows", prefix: "mine", name: "pioneer" });
    const said = () => pioneer.lines.join("\n");
    write(1);
    await waitUntil("step 1 is safe", async () => (await tidemark("runs", "--to", place)).stdout.includes("step 1,"));

    await addProfile(stage.client, { name: "mine", store: stage.store, prefix: "mine/" });
    await waitUntil("the prefix is marked", async () =>
      (await tidemark("ls", "-r", `${place}/_tidemark/`)).stdout.includes("hub.json"),
    );
    write(2);
    await waitUntil("it says that it stops", () => said().includes("Stopped uploading grows."));
    expect(said()).toContain(`${place}: A hub keeps checkpoints under this prefix`);
    expect(said()).toContain("Join it with --hub and a token");
    expect(said()).toContain(`tidemark rm ${place}/_tidemark/hub.json`);
    expect((await tidemark("runs", "--to", place)).stdout).toContain("grows: step 1,");
    await pioneer.stop();
    expect(said()).toContain("step 2");
  } finally {
    await Promise.all(alone.started.map((one) => one.stop()));
    await stage.close();
  }
});
