import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { runOnce } from "../stage/run-once.ts";
import { IMPLEMENTATIONS, stageOver, type Staged } from "../stage/stage-over.ts";
import { type RunningImds, startImds } from "../stage/start-imds.ts";
import { ROOT, type RunningProcess } from "../stage/start-process.ts";
import { armFault, readLog } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";
import { testedWorker } from "../stage/start-worker.ts";

/** A worker that measures its link before it begins, at home and on a platform that can exchange its machine. */

const TRAIN = join(ROOT, "e2e/stage/training-program.ts");
const said = (worker: { lines: readonly string[] }) => worker.lines.join("\n");

const cost = z.object({ body: z.object({ deletion_cost: z.number() }) });

const BOX = ["--probe-time", "6s", "--attempts", "1"];
const HARD = ["--min-up", "900Gbit", ...BOX];
const EASY = ["--min-up", "1kbit", "--min-down", "1kbit", ...BOX];
const PROBES = "_tidemark/probe/";

describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  let imds: RunningImds;
  beforeAll(async () => {
    [staged, imds] = await Promise.all([
      // Enough for one: the next one asks in vain, and is not yet taken for a sign that it is the store.
      stageOver(implementation, {
        hub: { env: { TIDEMARK_REALLOCATE_PER_HOUR: "1", TIDEMARK_REALLOCATE_QUORUM_LEAST: "5" } },
      }),
      startImds(),
    ]);
    // A link like one over the internet: a measurement without it keeps every core busy.
    for (const side of ["request", "response"] as const) {
      const action = { kind: "rate", side, bytesPerSecond: 2_000_000 } as const;
      await armFault(staged.store, { keyPattern: `${PROBES}*`, action });
    }
  });
  afterAll(async () => {
    await Promise.all([staged.close(), imds.stop()]);
  });

  function start(about: { name: string; machine: string | null; flags: string[] }): Promise<RunningProcess> {
    const { name, machine, flags } = about;
    const env = {
      TIDEMARK_IMDS_URL: machine === null ? "http://127.0.0.1:9" : imds.url,
      ...(machine === null ? {} : { SALAD_MACHINE_ID: machine }),
    };
    const program = [process.execPath, TRAIN, staged.folderOf(name), "1"];
    return staged.startNode({ name, run: name, flags, env, program });
  }

  test("outside such a platform a link that is too slow ends the worker", async () => {
    const worker = await start({ name: "home", machine: null, flags: HARD });
    expect(await worker.exited).toMatchObject({ code: 4 });
    expect(said(worker)).toContain("The link between this machine and the store is slower than required");
    expect(said(worker)).not.toContain("starts at");
    expect(await imds.askedAt("/v1/reallocate")).toEqual([]);
  });

  test("a link that does what is asked of it is measured against the bucket, and nothing of that stays there", async () => {
    const first = await start({ name: "good", machine: "machine-good", flags: EASY });
    expect(await first.exited, said(first)).toMatchObject({ code: 0 });
    expect(said(first)).toMatch(/Up [\d.]+ [kMG]bps.*Down [\d.]+ [kMG]bps.*Accepted/);
    const sent = (await readLog(staged.store)).filter(({ key }) => key.startsWith(PROBES));
    expect(sent.length).toBeGreaterThan(0);
    const place = `s3://${staged.store.bucket}/${PROBES}`;
    const left = await runOnce(testedWorker(), ["ls", "-r", place], { env: keysInEnv(staged.store) });
    expect(left.stdout).toBe("");
  });

  if (implementation === "alone") {
    test("on a platform that exchanges machines a node stays whose link is too slow, because no hub decides", async () => {
      const salad = await start({ name: "salad", machine: "machine-slow", flags: HARD });
      expect(await salad.exited, said(salad)).toMatchObject({ code: 0 });
      expect(said(salad)).toContain("this machine stays: this node works alone: no hub decides on that");
      expect(said(salad)).toContain("starts at 0");
      expect(await imds.askedAt("/v1/reallocate")).toEqual([]);
    });
    return;
  }

  test("a machine whose link is too slow is given back before the program starts", async () => {
    const worker = await start({ name: "slow", machine: "machine-slow", flags: HARD });
    expect(await worker.exited).toMatchObject({ code: 4 });
    expect(said(worker)).toContain("The link between this machine and the store is slower than required");
    expect(said(worker)).not.toContain("starts at");
    expect(await imds.askedAt("/v1/reallocate")).toEqual([
      {
        method: "POST",
        path: "/v1/reallocate",
        metadata: "true",
        body: { reason: expect.stringMatching(/^tidemark: [\d.]+ [kMG]bps up where 900 Gbps are asked for$/) },
      },
    ]);
    const node = (await staged.stage().client.nodes.list.query()).find(({ name }) => name === "slow");
    expect(node).toMatchObject({ state: "offline", facts: { machineId: "machine-slow" } });
  });

  test("when the budget of the fleet is used up, the next one says so and trains", async () => {
    const worker = await start({ name: "stays", machine: "machine-stays", flags: HARD });
    expect(await worker.exited).toMatchObject({ code: 0 });
    expect(said(worker)).toContain("this machine stays: the fleet's budget of 1 reallocations an hour is used up");
    expect(said(worker)).toContain("starts at 0");
    expect(await imds.askedAt("/v1/reallocate")).toHaveLength(1);
  });

  test("a machine that was accepted is not measured again, and what it costs to lose is told", async () => {
    const again = await start({ name: "good", machine: "machine-good", flags: EASY });
    expect(await again.exited).toMatchObject({ code: 0 });
    expect(said(again)).toContain("The hub knows this machine: its link does what is asked of it.");
    expect(await imds.askedAt("/v1/deletion-cost")).toContainEqual(
      expect.objectContaining({ method: "PUT", metadata: "true", body: { deletion_cost: 0 } }),
    );
  });

  test("a machine that was given back and is here again is left before a byte moves", async () => {
    const before = await imds.askedAt("/v1/reallocate");
    const worker = await start({ name: "back", machine: "machine-slow", flags: HARD });
    expect(await worker.exited).toMatchObject({ code: 4 });
    expect(said(worker)).toContain("The hub knows this machine");
    expect(said(worker)).toContain("is here again");
    expect(said(worker)).not.toContain("Measuring the link");
    expect(said(worker)).not.toContain("starts at");
    expect(await imds.askedAt("/v1/reallocate")).toHaveLength(before.length + 1);
  });

  test("what is not safe makes the container costly to take away", async () => {
    const worker = await staged.startNode({
      name: "full",
      run: "full",
      flags: ["--limit-up", "10kB", "--settle", "500ms", "--grace", "2s"],
      env: { TIDEMARK_IMDS_URL: imds.url, SALAD_MACHINE_ID: "machine-full" },
    });
    writeCheckpoint({ folder: staged.folderOf("full"), step: 10, modelBytes: 5_000_000, optimizerBytes: 0, loss: 1 });
    const costs = async () => z.array(cost).parse(await imds.askedAt("/v1/deletion-cost"));
    await waitUntil("it costs something", async () => (await costs()).some(({ body }) => body.deletion_cost > 0));
    await worker.stop();
  });

  test("on a node that has joined, `tidemark probe` measures through the hub and leaves nothing behind", async () => {
    const state = staged.stateOf("good");
    const { code, stdout } = await runOnce(testedWorker(), ["probe", "--json", "--state", state, ...EASY]);
    const result = JSON.parse(stdout) as Record<string, unknown>;
    expect([code, result]).toEqual([0, expect.objectContaining({ type: "probe", outcome: "accept", fault: null })]);
    const keys = {
      AWS_ACCESS_KEY_ID: staged.store.accessKey,
      AWS_SECRET_ACCESS_KEY: staged.store.secretKey,
      TIDEMARK_ENDPOINT: staged.store.endpoint,
    };
    const left = await runOnce(testedWorker(), ["ls", "-r", `s3://${staged.store.bucket}/_tidemark/probe/`], {
      env: keys,
    });
    expect(left.stdout).toBe("");
  });

  test("with keys of its own it needs no hub, and a link that is too slow is exit 4", async () => {
    const env = {
      AWS_ACCESS_KEY_ID: staged.store.accessKey,
      AWS_SECRET_ACCESS_KEY: staged.store.secretKey,
      TIDEMARK_ENDPOINT: staged.store.endpoint,
      TIDEMARK_STATE: join(staged.dir, "direct"),
    };
    const place = `s3://${staged.store.bucket}/somewhere`;
    const slow = await runOnce(testedWorker(), ["probe", place, "--json", ...HARD], { env });
    expect([slow.code, JSON.parse(slow.stdout)]).toEqual([
      4,
      expect.objectContaining({ outcome: "reject", fault: expect.objectContaining({ code: "LINK_TOO_SLOW" }) }),
    ]);
    const refused = { ...env, AWS_SECRET_ACCESS_KEY: "wrong" };
    const wrong = await runOnce(testedWorker(), ["probe", place, ...BOX], { env: refused });
    expect(wrong.code).toBe(4);
    expect(wrong.stderr).toContain("does not accept this access key or its secret");
    const unit = await runOnce(testedWorker(), ["probe", place, "--min-up", "20"], { env });
    expect([unit.code, unit.stderr]).toEqual([2, expect.stringContaining("20Mbit")]);
  });
});
