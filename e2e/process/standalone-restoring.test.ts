import { join } from "node:path";
import { expect, test } from "vitest";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { closeAlone, folderOf, openAlone, startAlone } from "../stage/open-alone.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { readLog, setClock } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder, writeCheckpoint } from "../stage/write-checkpoint.ts";

/** `--keep` of one node deletes nothing that another node restores. */

const DAY_MS = 86_400_000;
const MEGABYTE = 1_000_000;

test("a step whose time in the trash ends while another node restores it stays until the restore has ended", async () => {
  const alone = await openAlone();
  try {
    const place = `s3://${alone.store.bucket}/kept`;
    const env = { ...keysInEnv(alone.store), TIDEMARK_STATE: join(alone.dir, "laptop") };
    const tidemark = (...args: string[]) => runOnce(testedWorker(), args, { env });
    const write = (step: number, modelBytes: number) =>
      writeCheckpoint({ folder: folderOf(alone, "trainer"), step, modelBytes, optimizerBytes: 1_000, loss: 1 });
    const flags = ["--keep", "last=1"];
    const node = await startAlone(alone, { name: "trainer", run: "llama", prefix: "kept", flags });
    const said = (text: string) => node.lines.join("\n").includes(text);
    const original = write(1, 40 * MEGABYTE);
    await waitUntil("step 1 is safe", () => said("Safe: llama step 1"));
    const hash = hashFolder(original);
    write(2, MEGABYTE);
    await waitUntil("step 1 is in the trash", () => said("Moved step 1 of llama to the trash"));

    await setClock(alone.store, DAY_MS - 30_000);
    const target = join(alone.dir, "out");
    const reads = async () =>
      (await readLog(alone.store)).filter(
        ({ operation, key }) => operation === "GetObject" && key.startsWith("kept/runs/"),
      );
    const before = (await reads()).length;
    const restoring = tidemark("restore", "llama@1", target, "--to", place, "--limit-down", "2MB");
    await waitUntil("the restore reads", async () => (await reads()).length > before);
    await setClock(alone.store, DAY_MS + 60_000);
    write(3, MEGABYTE);
    await waitUntil("the rules were applied", () => said("Moved step 2 of llama to the trash"));
    expect(await restoring).toMatchObject({ code: 0 });
    expect(hashFolder(target)).toEqual(hash);
    expect(said("Deleted step 1")).toBe(false);
    expect((await tidemark("ls", "-r", `${place}/_tidemark/`)).stdout).not.toContain("restores/");

    write(4, MEGABYTE);
    await waitUntil("step 1 is deleted", () => said("Deleted step 1 of llama, by --keep."));
    await node.stop();
  } finally {
    await closeAlone(alone);
  }
});
