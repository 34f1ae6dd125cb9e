import { chownSync, lstatSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { PRINT_RESUME, readTexts, said, writer } from "../stage/write-files-program.ts";

/** Owners of what root restores into a folder of another user, through a hub. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

async function runTo(node: string, run: string, script: string[]) {
  mkdirSync(stage.folderOf(node), { recursive: true });
  const worker = await stage.startNode({ name: node, run, program: script, flags: ["--settle", "50ms"] });
  const { code } = await worker.exited;
  expect(code, said(worker)).toBe(0);
  return worker;
}

const isRoot = process.getuid?.() === 0;
/** A folder of another user that a node watches. */
function folderOfOther(node: string): string {
  const folder = stage.folderOf(node);
  mkdirSync(folder, { recursive: true });
  chownSync(folder, 54_321, 54_322);
  return folder;
}

test.runIf(isRoot)(
  "what root restores into a folder of somebody else belongs to them: folders above it, pointers, settings and links too",
  async () => {
    const files = { "global_step10/mp_rank_00_model_states.pt": "m10", latest: "global_step10" };
    await runTo("owned-1", "owned", writer(stage.folderOf("owned-1"), files));
    const logs = {
      "logs/version_0/.hydra/config.yaml": "c",
      "logs/version_0/hparams.yaml": "lr: 1",
      "logs/version_0/checkpoints/epoch=0-step=4.ckpt": "c4",
      "logs/version_0/checkpoints/last.ckpt": "-> epoch=0-step=4.ckpt",
    };
    await runTo("nested-1", "nested", writer(stage.folderOf("nested-1"), logs));
    for (const [run, all] of Object.entries({ owned: files, nested: logs })) {
      const second = folderOfOther(`${run}-2`);
      await runTo(`${run}-2`, run, PRINT_RESUME);
      expect(readTexts(second)).toEqual(all);
      for (const name of readdirSync(second, { recursive: true, encoding: "utf8" })) {
        const { uid, gid } = lstatSync(join(second, name));
        expect({ name, uid, gid }).toEqual({ name, uid: 54_321, gid: 54_322 });
      }
    }
    // The folder that the restore made has the time of the checkpoint.
    const [made, file] = ["", "/epoch=0-step=4.ckpt"].map((name) =>
      Math.floor(statSync(join(stage.folderOf("nested-2"), `logs/version_0/checkpoints${name}`)).mtimeMs),
    );
    expect(made).toBe(file);
  },
);

test.runIf(isRoot)("so does what the hub, or a person on the node, orders root to restore", async () => {
  await runTo("ordered-1", "ordered", writer(stage.folderOf("ordered-1"), { "step_10/model.pt": "m" }));
  const worker = await stage.startNode({ name: "ordered-1", run: "ordered" });
  const apart = folderOfOther("ordered-apart");
  const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse("ordered") });
  const isThere = ({ name, state }: { name: string; state: string }) => name === "ordered-1" && state === "online";
  const nodeId = await waitUntil(
    "the node is there",
    async () => (await stage.client.nodes.list.query()).find(isThere)?.id,
  );
  const { transferId } = await stage.client.restores.create.mutate({
    requestId: crypto.randomUUID(),
    checkpointId: checkpoints[0]?.id ?? "",
    nodeId,
    targetPath: join(apart, "by-hub/a/step_10"),
  });
  await waitUntil("the hub's restore is done", async () => {
    const filter = { nodeId: null, run: null, states: [], cursor: null, limit: 50 };
    const { rows } = await stage.client.transfers.list.query(filter);
    return rows.some(({ id, state }) => id === transferId && state === "done");
  });
  const state = join(stage.dir, "nodes", "ordered-1", "state");
  const args = ["restore", "ordered", join(apart, "by-hand/a/step_10"), "--state", state];
  const { code, stderr } = await runOnce(testedWorker(), args);
  expect(code, stderr + said(worker)).toBe(0);
  const names = readdirSync(apart, { recursive: true, encoding: "utf8" });
  expect(names).toHaveLength(8);
  for (const name of names) {
    const { uid, gid } = lstatSync(join(apart, name));
    expect({ name, uid, gid }).toEqual({ name, uid: 54_321, gid: 54_322 });
  }
  await worker.stop();
});

test.runIf(isRoot)("where root may not change owners, the restore goes on and says so once", async () => {
  const files = { "a/epoch=0-step=4.ckpt": "c4", "a/hparams.yaml": "lr: 1" };
  await runTo("refused-1", "refused", writer(stage.folderOf("refused-1"), files));
  const second = folderOfOther("refused-2");
  const worker = await stage.startNode({
    name: "refused-2",
    run: "refused",
    program: PRINT_RESUME,
    under: ["setpriv", "--bounding-set", "-chown", "--inh-caps", "-chown"],
  });
  expect((await worker.exited).code, said(worker)).toBe(0);
  expect(readTexts(second)).toEqual(files);
  expect(worker.lines.filter((line) => line.includes("cannot be given to user"))).toEqual([
    `Restored files cannot be given to user 54321, the owner of their folder: the system refused it for ${join(second, "a")} (EPERM). Their content is whole. Start the worker as that user, or change the owner with chown, where the program has to change or remove them.`,
  ]);
});
