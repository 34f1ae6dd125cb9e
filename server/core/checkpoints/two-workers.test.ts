import { expect, it } from "vitest";
import { isFault } from "#protocol/faults/fault.ts";
import { randomFrom } from "#protocol/base/random-from.ts";
import { callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { claim, node, other, pairForEach, profileId, test } from "#server/testing/pair-for-each.ts";
import { announce, manifestOf, run, upload, type Staged } from "#server/testing/stage-checkpoint.ts";
import { keysOf } from "#server/testing/test-bucket.ts";

/**
 * Two workers that both believe that the run is theirs, in a hundred random orders of what each of them does: claim it, announce
 * a checkpoint, send its bytes, commit it. In every order one of them can write, the other is told why not, and what the
 * winner made is there as it made it.
 */

pairForEach();

/** One worker, a step at a time. What it was refused is kept; it then goes on with nothing but another claim. */
class Worker {
  readonly refusals: string[] = [];
  readonly committed: Staged[] = [];
  epoch = 0;
  #staged: Staged | null = null;
  #etags: Map<string, string> | null = null;
  readonly node: TestNode;
  readonly #nextStep: () => number;
  constructor(of: TestNode, nextStep: () => number) {
    this.node = of;
    this.#nextStep = nextStep;
  }

  async act(random: () => number): Promise<void> {
    try {
      // Now and then it was started anew, and claims although it has the run.
      if (this.epoch === 0 || random() < 0.1) {
        [this.#staged, this.#etags] = [null, null];
        this.epoch = (await claim(this.node)).epoch;
      } else if (this.#staged === null) {
        this.#staged = await announce(test.hub, this.node, { epoch: this.epoch, step: this.#nextStep() });
      } else if (this.#etags === null) this.#etags = await upload(test.hub, this.node, this.#staged);
      else {
        const staged = this.#staged;
        const manifest = manifestOf(test.hub, this.node, { staged, etags: this.#etags });
        await callAs(test.hub, this.node.caller).node.commit({ manifest });
        this.committed.push(staged);
        [this.#staged, this.#etags] = [null, null];
      }
    } catch (error) {
      const cause: unknown = error instanceof Error ? error.cause : null;
      if (!isFault(cause)) throw error;
      this.refusals.push(cause.code);
      [this.epoch, this.#staged, this.#etags] = [0, null, null];
    }
  }
}

/** Data and manifests in the bucket with their ETags: the keys of what was committed must stay as they were. */
async function objectsOf(workers: readonly Worker[]): Promise<string[]> {
  const attempts = workers.flatMap(({ committed }) => committed.map(({ attempt }) => attempt));
  const keys = [
    ...(await keysOf(test.hub, profileId, `team/runs/${run}/`)),
    ...(await keysOf(test.hub, profileId, `team/manifests/${run}/`)),
  ];
  return keys.filter((key) => attempts.some((attempt) => key.includes(attempt)));
}

it.each(Array.from({ length: 20 }, (_, index) => index))(
  "of two workers one can write and the other says why not, in five orders from seed %i on",
  async (group) => {
    const workers = [node, other].map((of) => new Worker(of, () => (step += 10)));
    let step = 0;
    for (let round = 0; round < 5; round++) {
      const random = randomFrom(1 + group * 5 + round);
      for (let act = 0; act < 6; act++) {
        const [first, second] = random() < 0.5 ? workers : workers.toReversed();
        // One after the other, or both in the same moment.
        if (random() < 0.5) await Promise.all([first?.act(random), second?.act(random)]);
        else await first?.act(random);
      }
      const refused = workers.flatMap(({ refusals }) => refusals);
      expect(new Set([...refused, "EPOCH_OVER"])).toEqual(new Set(["EPOCH_OVER"]));
      const current = test.hub.live.writers.get(run);
      const writers = workers.filter(({ node: of, epoch }) => of.nodeId === current?.nodeId && epoch === current.epoch);
      expect(writers.length).toBeLessThanOrEqual(1);
      // Whoever is not the writer cannot announce: it is told that its epoch is over.
      for (const worker of workers) {
        if (worker.epoch === 0 || writers.includes(worker)) continue;
        const late = announce(test.hub, worker.node, { epoch: worker.epoch, step: (step += 10) });
        await expect(late).rejects.toMatchObject({ cause: { code: "EPOCH_OVER" } });
      }
    }
    const epochs = await test.hub.db.epoch.findMany({ where: { run }, orderBy: { epoch: "asc" } });
    expect(new Set(epochs.map(({ epoch }) => epoch)).size).toBe(epochs.length);
    const rows = await test.hub.db.checkpoint.findMany({ where: { run, state: "complete" } });
    const committed = workers.flatMap((worker) => worker.committed.map((staged) => ({ staged, worker })));
    expect(rows.map(({ id }) => id).sort()).toEqual(committed.map(({ staged }) => staged.checkpointId).sort());
    for (const { staged, worker } of committed) {
      // Each was committed by the node of its epoch, and every file of it is what that node sent.
      expect(epochs.find(({ epoch }) => epoch === staged.epoch)?.nodeId).toBe(worker.node.nodeId);
      const { files } = await callAs(test.hub, "viewer").checkpoints.get({ id: staged.checkpointId });
      expect(files.map(({ path, sizeBytes }) => [path, sizeBytes])).toEqual(
        staged.files.map(({ path, text }) => [path, Buffer.byteLength(text)]),
      );
    }
    expect(await objectsOf(workers)).toHaveLength(2 * committed.length);
  },
);
