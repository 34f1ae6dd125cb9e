import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { runName } from "#protocol/base/names.ts";
import { DEFAULT_PACKING } from "#protocol/checkpoint/packing.ts";
import { openStage, type Stage } from "#e2e/stage/open-stage.ts";
import { readCounters, resetCounters } from "#e2e/stage/store-control.ts";
import { waitUntil } from "#e2e/stage/wait-until.ts";
import { writeManyFiles } from "#e2e/stage/write-many-files.ts";
import { measuredTurn, type MeasuredTurn } from "./turn.ts";

/** Runs at the far end of the link: starts store and hub, and measures. The worker runs at the near end. */

const given = z
  .object({
    /** Namespace file of the near end, and the address of this end. */
    client: z.string(),
    address: z.string(),
    files: z.number(),
    bytes: z.number(),
    rounds: z.number(),
    ways: z.array(measuredTurn.shape.way),
    /** File for the results. */
    results: z.string(),
  })
  .parse(JSON.parse(process.argv[2] ?? "{}"));

const NODE = "near";
const LONGEST_MS = 20 * 60_000;

const EVERY_TRANSFER = { nodeId: null, run: null, states: [], cursor: null, limit: 200 };

async function endOf(stage: Stage, which: (row: { id: string; direction: string; step: number }) => boolean) {
  const look = async () => {
    const { rows } = await stage.client.transfers.list.query(EVERY_TRANSFER);
    const row = rows.find(which);
    if (row?.state === "failed") throw new Error(`it failed: ${JSON.stringify(row.fault)}`);
    return row?.state === "done" ? row : undefined;
  };
  return waitUntil("the transfer is done", look, { withinMs: LONGEST_MS });
}

async function setPacking(stage: Stage, way: MeasuredTurn["way"]): Promise<void> {
  const [known] = await stage.client.profiles.list.query();
  if (known === undefined) throw new Error("there is no profile");
  const { id, version, profile, about } = known;
  const packing = way === "packed" ? DEFAULT_PACKING : { ...DEFAULT_PACKING, belowBytes: 0 };
  const change = { id, version, profile, credential: null, about: { ...about, packing } };
  await stage.client.profiles.update.mutate(change);
}

async function measureTurn(stage: Stage, about: { way: MeasuredTurn["way"]; round: number; step: number }) {
  const { way, round, step } = about;
  const run = runName.parse("many");
  await setPacking(stage, way);
  await resetCounters(stage.store);
  const { files, bytes } = given;
  const path = writeManyFiles({
    folder: stage.folderOf(NODE),
    step,
    files,
    bytesOf: () => bytes,
    content: "random",
    modelBytes: 0,
  });
  const startedAt = performance.now();
  const sent = await endOf(stage, (row) => row.direction === "upload" && row.step === step);
  const seenToSafeSeconds = (performance.now() - startedAt) / 1000;
  const { checkpoints } = await stage.client.runs.get.query({ run });
  const checkpoint = checkpoints.find((one) => one.step === step && one.state === "complete");
  const [node] = await stage.client.nodes.list.query();
  if (checkpoint === undefined || node === undefined) throw new Error("the checkpoint is not there");
  const targetPath = join(stage.dir, "restored", `checkpoint-${step}`);
  const askedAt = performance.now();
  const request = { requestId: crypto.randomUUID(), checkpointId: checkpoint.id, nodeId: node.id, targetPath };
  const { transferId } = await stage.client.restores.create.mutate(request);
  await endOf(stage, ({ id }) => id === transferId);
  const restoreSeconds = (performance.now() - askedAt) / 1000;
  const countOf = async (operation: string) =>
    (await readCounters(stage.store, operation)).targets
      .filter(({ key }) => key.includes("runs/many/"))
      .reduce((sum, { requests }) => sum + requests, 0);
  const turn: MeasuredTurn = {
    way,
    round,
    saveSeconds: ((sent.endedAt ?? 0) - (sent.startedAt ?? 0)) / 1000,
    seenToSafeSeconds,
    restoreSeconds,
    puts: await countOf("PutObject"),
    gets: await countOf("GetObject"),
  };
  console.log(JSON.stringify(turn));
  await rm(path, { recursive: true, force: true });
  await rm(targetPath, { recursive: true, force: true });
  return turn;
}

const stage = await openStage({
  store: { flags: ["--host", given.address, "--no-fsync"] },
  hub: { env: { TIDEMARK_HOST: given.address, TIDEMARK_ALLOW_ENDPOINTS: given.address } },
});
try {
  const flags = ["--allow-http"];
  const under = ["nsenter", `--net=${given.client}`];
  await stage.startNode({ name: NODE, run: "many", flags, under });
  await waitUntil(
    "the worker is online",
    async () => (await stage.client.nodes.list.query()).some(({ state }) => state === "online"),
    { withinMs: LONGEST_MS },
  );
  const turns: MeasuredTurn[] = [];
  let step = 0;
  for (let round = 1; round <= given.rounds; round++) {
    for (const way of given.ways) {
      turns.push(await measureTurn(stage, { way, round, step: ++step }));
    }
  }
  await writeFile(given.results, JSON.stringify(turns));
} finally {
  await stage.close();
}
