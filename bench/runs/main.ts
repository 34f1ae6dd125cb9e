import { join } from "node:path";
import { parseArgs } from "node:util";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { keysInEnv } from "#e2e/stage/keys-in-env.ts";
import { closeAlone, openAlone } from "#e2e/stage/open-alone.ts";
import { runOnce } from "#e2e/stage/run-once.ts";
import { ROOT } from "#e2e/stage/start-process.ts";
import { readCounters, resetCounters } from "#e2e/stage/store-control.ts";
import { attemptId, filePath, runName } from "#protocol/base/names.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { medianOf } from "#protocol/base/robust.ts";
import { epochClaim, manifest } from "#protocol/checkpoint/checkpoint.ts";
import { epochClaimKey, manifestKey } from "#protocol/checkpoint/keys.ts";
import { BenchError } from "../bench-error.ts";
import { readCount } from "../read-count.ts";
import { describeMachine } from "../report/describe-machine.ts";

/** `npm run bench -- runs`: measures how long `tidemark runs --to` takes over a bucket with many checkpoints. */

const HELP = `npm run bench -- runs [--runs N] [--steps N] [--rounds N]

  --runs N     runs in the bucket (100)
  --steps N    complete checkpoints of each (100)
  --rounds N   how often the bucket is listed (5)`;

const PREFIX = "ckpts/";
const LANES = 32;

/** Returns the objects of one run, by key. */
function recordOf(name: string, steps: number): [string, object][] {
  const run = runName.parse(name);
  const node = { id: "node-0001", name: "one" };
  const claim = epochClaim.parse({
    format: "tidemark.epoch",
    version: 1,
    run,
    epoch: 1,
    parent: null,
    node,
    claimedAt: 1,
  });
  const objects: [string, object][] = [[epochClaimKey(PREFIX, { run, epoch: 1 }), claim]];
  for (let step = 1; step <= steps; step++) {
    const checkpointId = `${name}-checkpoint-${step}`;
    const attempt = attemptId.parse(`attempt${String(step).padStart(9, "0")}`);
    const made = manifest.parse({
      format: "tidemark.checkpoint",
      version: 1,
      id: checkpointId,
      run,
      step,
      writerEpoch: 1,
      parent: null,
      attempt,
      node,
      framework: null,
      metrics: {},
      capturedAt: step,
      sizeBytes: 0,
      homes: [{ profileId: "standalone", bucket: "training", prefix: PREFIX }],
      transform: { kind: "none" },
      files: [{ path: filePath.parse("model"), sizeBytes: 0, mtimeMs: 1, sha256: null, extents: [] }],
    });
    objects.push([manifestKey(PREFIX, { run, epoch: 1, step, checkpointId, attempt }), made]);
  }
  return objects;
}

/** Lists the bucket so often, each time with a new process. @throws BenchError when a list is wrong */
export async function benchRuns(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    options: {
      runs: { type: "string", default: "100" },
      steps: { type: "string", default: "100" },
      rounds: { type: "string", default: "5" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  const runs = readCount("--runs", values.runs);
  const steps = readCount("--steps", values.steps);
  const rounds = readCount("--rounds", values.rounds);
  const alone = await openAlone();
  try {
    const { store } = alone;
    const { accessKey: accessKeyId, secretKey: secretAccessKey, endpoint, bucket: Bucket } = store;
    const client = new S3Client({
      endpoint,
      region: "us-east-1",
      forcePathStyle: true,
      credentials: { accessKeyId, secretAccessKey },
    });
    const objects = Array.from({ length: runs }, (_, index) => recordOf(`run-${index}`, steps)).flat();
    await forEachOf(objects, LANES, async ([Key, body]) => {
      await client.send(new PutObjectCommand({ Bucket, Key, Body: JSON.stringify(body) }));
    });
    client.destroy();
    await resetCounters(store);
    const seconds: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const startedAt = performance.now();
      const listed = await runOnce(join(ROOT, "dist/tidemark.mjs"), ["runs", "--to", `s3://${Bucket}/${PREFIX}`], {
        env: keysInEnv(store),
      });
      seconds.push((performance.now() - startedAt) / 1000);
      const lines = listed.stdout.trimEnd().split("\n");
      const right = lines.filter((line) => line.includes(`step ${steps}`) && line.includes(`${steps} checkpoints`));
      if (listed.code !== 0 || right.length !== runs) throw new BenchError(`The list is wrong: ${listed.stderr}`);
    }
    const { requests } = await readCounters(store);
    const { machine } = await describeMachine({ link: null, server: "store", congestion: "" });
    console.log(`${runs} runs of ${steps} checkpoints each, ${rounds} lists, a new process for each`);
    console.log(`  ${machine.cores} cores of ${machine.cpu}, load before ${machine.loadBefore}`);
    console.log(`  median ${medianOf(seconds).toFixed(2)} s, slowest ${Math.max(...seconds).toFixed(2)} s`);
    console.log(`  ${Math.round(requests / rounds)} requests a list`);
  } finally {
    await closeAlone(alone);
  }
}
