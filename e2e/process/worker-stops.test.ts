import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { IMPLEMENTATIONS, stageOver, type Staged } from "../stage/stage-over.ts";
import { readCounters } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/** SIGTERM on a slow uplink: the platform gives some seconds, and kills whoever needs longer. */

const MIB = 1024 * 1024;
/** 2 Mbit/s. */
const SLOW = ["--limit-up", "250KB", "--concurrency", "2"];

describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation);
  });
  afterAll(() => staged.close());

  /** Starts a worker on the slow uplink and waits until it sends a checkpoint of `modelBytes`. */
  async function startSending(about: { name: string; modelBytes: number; graceSeconds: number }) {
    const { name, modelBytes, graceSeconds } = about;
    const run = runName.parse(name);
    const flags = [...SLOW, "--grace", `${graceSeconds}s`];
    const worker = await staged.startNode({ name, run, flags });
    writeCheckpoint({ folder: staged.folderOf(name), step: 100, modelBytes, optimizerBytes: 0, loss: 1 });
    await waitUntil("it is being sent", () => worker.lines.some((line) => line.includes(`Captured ${name} step 100`)));
    const stop = async () => {
      const { code } = await worker.stop("SIGTERM");
      return { code, said: worker.lines.join("\n") };
    };
    const isSafe = async () => (await staged.completeOf(name)).some(({ step }) => step === 100);
    return { run, stop, isSafe };
  }

  // 15 and 30 s, by the clock: `npm run prove -- --measure stops-in-time`.
  test.concurrent.for([2, 5])(
    "with %i s it ends in time, says what is not safe, and the next start goes on",
    async (graceSeconds, { expect }) => {
      const name = `too-large-${graceSeconds}`;
      const { stop, isSafe } = await startSending({ name, modelBytes: 24 * MIB, graceSeconds });
      const { code, said } = await stop();
      expect(code).toBe(143);
      expect(said).toContain(`${name}: nothing of it is safe yet; 3 files, 24.0 MiB not yet safe.`);
      // All of it would have taken 100 s.
      expect(await isSafe()).toBe(false);
      await staged.startNode({ name, run: runName.parse(name) });
      await waitUntil("it is safe after the next start", isSafe);
      const parts = (await readCounters(staged.store, "UploadPart")).targets.filter(({ key }) =>
        key.includes(`/${name}/`),
      );
      expect(parts.filter(({ succeeded }) => succeeded > 1)).toEqual([]);
    },
  );

  test("what fits into the time becomes safe, and then it ends without waiting for the rest of it", async () => {
    const { stop, isSafe } = await startSending({ name: "fits", modelBytes: MIB, graceSeconds: 3600 });
    const { code, said } = await stop();
    expect(code).toBe(143);
    expect(said).toContain("fits: safe up to step 100; nothing waits.");
    expect(await isSafe()).toBe(true);
  });
});
