import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { installKnownPeers } from "#e2e/servers/install-peers.ts";
import { openStage, type Stage } from "#e2e/stage/open-stage.ts";
import { ROOT } from "#e2e/stage/start-process.ts";
import { BenchError } from "../bench-error.ts";
import { readCount } from "../read-count.ts";
import { percentile } from "../fleet/percentile.ts";
import { describeMachine } from "../report/describe-machine.ts";
import { commandOf } from "../report/measured-with.ts";
import { keptGpuTraining, keptTraining, WAYS, type Row, type TrainingResult, type Way } from "./result.ts";
import { runTraining, type Trained } from "./run-training.ts";
import { cpuTrainer, gpuTrainer, type Trainer } from "./trainers.ts";
import { trainingPage } from "./write-page.ts";

/**
 * `npm run bench -- training`: measures what saving costs the training beside it. The uplink is full all the time. Store and
 * hub, which would be elsewhere, have processors of their own. Steps are compared with those of the same training that saves
 * only to its disk.
 */

export const TRAINING_HELP = `npm run bench -- training [--gpu] [--rounds N] [--saves N] [--save] [--report]

  --gpu        a language model on a GPU, with PyTorch and safetensors of python3; without it, a thread that computes
  --rounds N   rounds, in each of which every way of saving has its turn (3)
  --saves N    checkpoints per turn (5), one every 8 s: of 150 MB over an uplink of 150 Mbit/s, with --gpu as large as
               they are over 600 Mbit/s
  --save       keep the results in bench/results/training.json or training-gpu.json, and write docs/training.md
  --report     write docs/training.md anew from what is kept`;

const PAGE = join(ROOT, "docs/training.md");

interface Turn extends Trained {
  way: Way;
  round: number;
}

interface Setting {
  stage: Stage;
  trainer: Trainer;
  rclone: string;
  saves: number;
  signal: AbortSignal;
}

/** Copies a folder with rclone, configured as its documentation says for S3, at the rate of the uplink. */
function copyWithRclone(setting: Setting, folder: string, key: string): Promise<void> {
  const { trainer } = setting;
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
    `--bwlimit=${trainer.uplinkBytesPerSecond}B`,
  ];
  const [program, ...before] = [...trainer.beside, setting.rclone];
  const env = { PATH: process.env["PATH"] ?? "", NODE_ENV: "production" as const };
  const keys = { AWS_ACCESS_KEY_ID: store.accessKey, AWS_SECRET_ACCESS_KEY: store.secretKey };
  const child = spawn(program, [...before, ...args], {
    stdio: "ignore",
    env: { ...env, ...keys },
    signal: setting.signal,
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`rclone ended with ${code}`))));
  });
}

async function takeTurn(setting: Setting, way: Way, round: number): Promise<Turn> {
  const { stage, trainer, saves, signal } = setting;
  const name = `turn-${round}-${WAYS.indexOf(way)}`;
  const folder = stage.folderOf(name);
  await mkdir(folder, { recursive: true });
  const flags = ["--limit-up", `${trainer.uplinkBytesPerSecond}B`];
  const under = trainer.beside;
  const worker = way === "Tidemark" ? await stage.startNode({ name, run: name, flags, under }) : null;
  let copying: Promise<void> = Promise.resolve();
  const folderAt = (step: number) => join(folder, `checkpoint-${step}`);
  const save = async (step: number): Promise<void> => {
    if (way === "rclone, waiting for it") await copyWithRclone(setting, folderAt(step), `${name}/${step}`);
    if (way === "rclone beside it")
      copying = copying.then(() => copyWithRclone(setting, folderAt(step), `${name}/${step}`));
  };
  const steps = trainer.saveEvery * saves + Math.round(trainer.saveEvery / 2);
  try {
    const command = trainer.command({ folder, steps });
    const write = (step: number): Promise<void> => trainer.write(folder, step);
    const trained = await runTraining({ command, steps, signal, write, save });
    await copying;
    return { way, round, ...trained };
  } finally {
    await worker?.stop("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  }
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

function rowsOf(turns: readonly Turn[], saveEvery: number): Row[] {
  /** Leaves out the steps before the first checkpoint, which are the same for all: nothing is uploaded yet. */
  const busySteps = ({ steps }: Trained): number[] => steps.slice(saveEvery);
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
  const onGpu = existsSync(keptGpuTraining.file) ? [await keptGpuTraining.read()] : [];
  await writeFile(PAGE, trainingPage([await keptTraining.read(), ...onGpu]));
  console.log("docs/training.md is written.");
}

/** Runs the benchmark. @throws BenchError when a tool is missing or an option was not understood */
export async function benchTraining(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      gpu: { type: "boolean", default: false },
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
  const { signal } = new AbortController();
  const trainer = await (values.gpu ? gpuTrainer(signal) : cpuTrainer(signal));
  const { saveEvery, stepSeconds, elsewhere } = trainer;
  const stage = await openStage({ hub: { under: elsewhere }, store: { under: elsewhere } });
  try {
    const setting: Setting = { stage, trainer, rclone: rclone.program, saves, signal };
    const turns: Turn[] = [];
    for (let round = 1; round <= rounds; round++) {
      for (const way of WAYS) {
        const turn = await takeTurn(setting, way, round);
        turns.push(turn);
        const [step, stall] = [mean(turn.steps.slice(saveEvery)) * 1000, mean(turn.stalls)];
        console.log(`  ${round} ${way.padEnd(24)} step ${step.toFixed(3)} ms, stands still ${stall.toFixed(2)} s`);
      }
    }
    const machine = await describeMachine({ congestion: "", link: null, server: "store" });
    const result: TrainingResult = {
      ...machine,
      command: commandOf("training", args),
      device: trainer.device,
      uplinkBytesPerSecond: trainer.uplinkBytesPerSecond,
      checkpointBytes: trainer.checkpointBytes,
      everySeconds: Math.round(stepSeconds * saveEvery),
      saves,
      rows: rowsOf(turns, saveEvery),
    };
    console.log(trainingPage([result]));
    if (!values.save) return;
    await (values.gpu ? keptGpuTraining : keptTraining).save(result);
    await writePage();
  } finally {
    await stage.close();
  }
}
