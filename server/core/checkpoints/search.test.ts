import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { readMigrations } from "#prisma/migrate.ts";
import { addTestNode, addTestProfile, callAs, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";
import { readStepWords } from "./search.ts";

let test: TestHub;
const search = (words: string) => callAs(test.hub, "viewer").checkpoints.search({ words });

beforeAll(async () => {
  test = await openTestHub();
  const { db } = test.hub;
  const profileId = await addTestProfile(test.hub, "http://127.0.0.1:9");
  const { nodeId } = await addTestNode(test.hub, profileId, "gpu-1");
  const rows = (["llama-8b", "llama-70b", "mistral"] as const).flatMap((name, order) =>
    [1_200, 1_300].map((step) => ({
      id: `${name}-${step}`,
      run: name,
      step: BigInt(step),
      writerEpoch: 1,
      attempt: `attempt-${step}`,
      nodeId,
      profileId,
      bucket: "training",
      prefix: "",
      state: name === "mistral" && step === 1_300 ? "trashed" : "complete",
      metrics: "{}",
      fileCount: 1,
      sizeBytes: 10n,
      capturedAt: new Date(1_000 * (order + 1)),
      announcedAt: new Date(1_000),
    })),
  );
  for (const name of ["llama-8b", "llama-70b", "mistral"].map((one) => runName.parse(one))) {
    await db.run.create({ data: { name, profileId, createdAt: new Date(1_000) } });
    await db.epoch.create({ data: { run: name, epoch: 1, nodeId, claimedAt: new Date(1_000) } });
  }
  await db.checkpoint.createMany({ data: rows });
  const record = { kind: "tag", by: "root@example.com", key: "", ends: "[]", at: new Date(1_000) };
  await db.keepRecord.createMany({
    data: [
      { ...record, id: "t1", run: "llama-8b", checkpointId: "llama-8b-1300", text: "best-eval" },
      { ...record, id: "t2", run: "mistral", checkpointId: "mistral-1300", text: "best-of-trash" },
      { ...record, id: "t3", run: "llama-8b", checkpointId: "llama-8b-1200", text: "best-once", endedById: "t4" },
    ],
  });
});
afterAll(() => test.close());

describe("a step", () => {
  it("is found in all runs, the newest first, and not in the trash", async () => {
    expect((await search("1200")).map(({ id }) => id)).toEqual(["mistral-1200", "llama-70b-1200", "llama-8b-1200"]);
    expect((await search("1,300")).map(({ id }) => id)).toEqual(["llama-70b-1300", "llama-8b-1300"]);
    expect(await search("1201")).toEqual([]);
  });

  it.each(["llama-8b 1200", "8b step 1200", "lama-8b 1,200", "llama-8b@1200", "step-1200 8b"])(
    "is found with words of its run: %s",
    async (words) => expect((await search(words)).map(({ id }) => id)).toEqual(["llama-8b-1200"]),
  );

  it("is found by an index, however many checkpoints there are", async () => {
    const plain = new DatabaseSync(":memory:");
    for (const { sql } of await readMigrations()) plain.exec(sql);
    const plan = plain
      .prepare(
        `EXPLAIN QUERY PLAN SELECT * FROM "Checkpoint" WHERE "step" = 1200 AND "state" IN ('complete', 'torn')
         ORDER BY "capturedAt" DESC LIMIT 20`,
      )
      .all();
    plain.close();
    expect(plan.map(({ detail }) => String(detail)).join("\n")).toMatch(
      /USING INDEX Checkpoint_step_capturedAt_idx \(step=\?\)$/,
    );
  });
});

describe("a tag", () => {
  it("is found by its words, also with a slip, while it holds and leads to what can be opened", async () => {
    const found = { id: "llama-8b-1300", tag: "best-eval", step: 1_300, run: "llama-8b" };
    expect(await search("best")).toMatchObject([found]);
    expect(await search("worst")).toEqual([]);
    expect(await search("bset eval")).toMatchObject([found]);
  });
});

describe("what is typed", () => {
  it.each([
    ["llama 1200", { step: 1_200n, of: "llama" }],
    ["step 5", { step: 5n, of: "" }],
    ["llama 3 1200", { step: 1_200n, of: "llama 3" }],
    ["llama-8b", null],
    ["99999999999999", null],
  ])("%s", (words, read) => expect(readStepWords(words)).toEqual(read));

  it("finds nothing where there is nothing, and is bounded", async () => {
    expect(await search("  ")).toEqual([]);
    await expect(search("a".repeat(129))).rejects.toThrow();
  });
});
