import { spawn } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compileC } from "#e2e/link/compile-c.ts";
import { installKnownPeers } from "#e2e/servers/install-peers.ts";
import { openStage, type Stage } from "#e2e/stage/open-stage.ts";
import { ROOT } from "#e2e/stage/start-process.ts";
import { writeCheckpoint } from "#e2e/stage/write-checkpoint.ts";
import { BenchError } from "../bench-error.ts";
import { readCount } from "../read-count.ts";
import { percentile } from "../fleet/percentile.ts";
import { describeMachine } from "../report/describe-machine.ts";
import { commandOf } from "../report/measured-with.ts";
import { keptTraining, WAYS, type Row, type TrainingResult, type Way } from "./result.ts";
import { runTraining, type Trained } from "./run-training.ts";
import { trainingPage } from "./write-page.ts";

/**
 * `npm run bench -- training`: what saving costs the training beside it. A thread that computes has one core; store and
 * hub, which would be elsewhere, have the other; whoever uploads runs where the system puts it. The uplink is full all
 * the time. Steps are compared with those of the same training that saves to its disk only.
 */

export const TRAINING_HELP = `npm run bench -- training [--rounds N] [--saves N] [--save] [--report]

  --rounds N   rounds, in each of which every way of saving has its turn (3)
  --saves N    checkpoints per turn (5), of 150 MB every 8 s over an uplink of 150 Mbit/s
  --save       keep the results in bench/results/training.json and write docs/training.md
  --report     write docs/training.md anew from what is kept`;

const PAGE = join(ROOT, "docs/training.md");

const UPLINK_BYTES_PER_SECOND = 18_750_000;
const CHECKPOINT_BYTES = 150_000_000;
const STEP_SECONDS = 0.02;
const SAVE_EVERY = 400;
const CALIBRATION = { steps: 50, work: 20 };
const [TRAINING_CORE, ELSEWHERE] = [0, 1];

interface Turn extends Trained {
  way: Way;
  round: number;
}

interface Setting {
  stage: Stage;
  program: string;
  rclone: string;
  work: number;
  saves: number;
  signal: AbortSignal;
}

/** Copies a folder with rclone, as its documentation says for S3, at the rate of the uplink. */
function copyWithRclone(setting: Setting, folder: string, key: string): Promise<void> {
  const { store } = setting.stage;
  const args = [
    "copy",
    folder,
    `:s3:${store.bucket}/${key}`,
    "--config=",
    "--s3-provider=Other",
    "--s3-env-auth",
    "--s3-no-check-bucket",
    `--s3-endpoint=${store.endpoint}`,
    "--s3-region=us-east-1",
    "--s3-upload-concurrency=10",
    "--s3-chunk-size=10Mi",
    `--bwlimit=${UPLINK_BYTES_PER_SECOND}B`,
  ];
  const env = { PATH: process.env["PATH"] ?? "", NODE_ENV: "production" as const };
  const keys = { AWS_ACCESS_KEY_ID: store.accessKey, AWS_SECRET_ACCESS_KEY: store.secretKey };
  const child = spawn(setting.rclone, args, { stdio: "ignore", env: { ...env, ...keys }, signal: setting.signal });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`rclone ended with ${code}`))));
  });
}

async function takeTurn(setting: Setting, way: Way, round: number): Promise<Turn> {
  const { stage, program, work, saves, signal } = setting;
  const name = `turn-${round}-${WAYS.indexOf(way)}`;
  const folder = stage.folderOf(name);
  await mkdir(folder, { recursive: true });
  const flags = ["--limit-up", `${UPLINK_BYTES_PER_SECOND}B`];
  const worker = way === "Tidemark" ? await stage.startNode({ name, run: name, flags }) : null;
  let copying: Promise<void> = Promise.resolve();
  const folderAt = (step: number) => join(folder, `checkpoint-${step}`);
  const save = async (step: number): Promise<void> => {
    if (way === "rclone, waiting for it") await copyWithRclone(setting, folderAt(step), `${name}/${step}`);
    if (way === "rclone beside it")
      copying = copying.then(() => copyWithRclone(setting, folderAt(step), `${name}/${step}`));
  };
  const write = async (step: number): Promise<void> => {
    writeCheckpoint({ folder, step, modelBytes: CHECKPOINT_BYTES, optimizerBytes: 0, loss: 1 });
  };
  const steps = SAVE_EVERY * saves + SAVE_EVERY / 2;
  try {
    const about = { program, core: TRAINING_CORE, steps, saveEvery: SAVE_EVERY, work, signal, write, save };
    const trained = await runTraining(about);
    await copying;
    return { way, round, ...trained };
  } finally {
    await worker?.stop("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  }
}

/** How many multiplications make a step on this core. */
async function calibrate(program: string, signal: AbortSignal): Promise<number> {
  const nothing = async () => undefined;
  const { steps, work } = CALIBRATION;
  const about = { program, core: TRAINING_CORE, saveEvery: steps + 1, write: nothing, save: nothing, signal };
  const { steps: took } = await runTraining({ ...about, steps, work });
  return Math.max(1, Math.round((STEP_SECONDS * work) / percentile(took, 0.5)));
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Steps before the first checkpoint are the same for all: nothing is uploaded yet. */
const busySteps = ({ steps }: Trained): number[] => steps.slice(SAVE_EVERY);

function rowsOf(turns: readonly Turn[]): Row[] {
  return WAYS.map((way) => {
    const own = turns.filter((turn) => turn.way === way);
    const steps = own.flatMap(busySteps);
    return {
      way,
      stepRatio: own.map((turn) => {
        const alone = turns.find((other) => other.round === turn.round && other.way === WAYS[0]);
        return mean(busySteps(turn)) / mean(alone === undefined ? [] : busySteps(alone));
      }),
      p50StepMs: percentile(steps, 0.5) * 1000,
      p99StepMs: percentile(steps, 0.99) * 1000,
      stallSeconds: mean(own.flatMap(({ stalls }) => stalls)),
    };
  });
}

async function writePage(): Promise<void> {
  await writeFile(PAGE, trainingPage(await keptTraining.read()));
  console.log("docs/training.md is written.");
}

/** @throws BenchError when a tool is missing or an option was not understood */
export async function benchTraining(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "3" },
      saves: { type: "string", default: "5" },
      save: { type: "boolean", default: false },
      report: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(TRAINING_HELP);
    return;
  }
  if (values.report) {
    await writePage();
    return;
  }
  const [rounds, saves] = [readCount("--rounds", values.rounds), readCount("--saves", values.saves)];
  const { rclone } = await installKnownPeers();
  if ("missing" in rclone) throw new BenchError(`There is no rclone to compare with: ${rclone.missing}.`);
  const program = await compileC("train", join(import.meta.dirname, "train.c"));
  const elsewhere = ["taskset", "-c", String(ELSEWHERE)];
  const stage = await openStage({ hub: { under: elsewhere }, store: { under: elsewhere } });
  const { signal } = new AbortController();
  try {
    const work = await calibrate(program, signal);
    const setting: Setting = { stage, program, rclone: rclone.program, work, saves, signal };
    const turns: Turn[] = [];
    for (let round = 1; round <= rounds; round++) {
      for (const way of WAYS) {
        const turn = await takeTurn(setting, way, round);
        turns.push(turn);
        const [step, stall] = [mean(busySteps(turn)) * 1000, mean(turn.stalls)];
        console.log(`  ${round} ${way.padEnd(24)} step ${step.toFixed(3)} ms, stands still ${stall.toFixed(2)} s`);
      }
    }
    const machine = await describeMachine({ congestion: "", link: null, server: "store" });
    const result: TrainingResult = {
      ...machine,
      command: commandOf("training", args),
      uplinkBytesPerSecond: UPLINK_BYTES_PER_SECOND,
      checkpointBytes: CHECKPOINT_BYTES,
      everySeconds: STEP_SECONDS * SAVE_EVERY,
      saves,
      rows: rowsOf(turns),
    };
    console.log(trainingPage(result));
    if (!values.save) return;
    await keptTraining.save(result);
    await writePage();
  } finally {
    await stage.close();
  }
}
