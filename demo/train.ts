import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { writeCheckpoint } from "#e2e/stage/write-checkpoint.ts";
import { parseDuration, parseSize } from "#protocol/wire/read-units.ts";

/**
 * A miniature training loop: it takes steps and its loss falls. At intervals it writes a real checkpoint as a framework does
 * (safetensors weights and optimizer, trainer_state.json). After a restart it continues from the newest checkpoint in its
 * folder. It knows nothing of Tidemark.
 */

const { values } = parseArgs({
  options: {
    folder: { type: "string" },
    every: { type: "string", default: "30s" },
    "steps-per-save": { type: "string", default: "100" },
    model: { type: "string", default: "16MiB" },
    optimizer: { type: "string", default: "8MiB" },
    /** Number of checkpoints after which training ends, so that an unattended demo does not fill the disk. */
    saves: { type: "string", default: "40" },
  },
});
const folder = values.folder;
if (folder === undefined) throw new Error("say where to write checkpoints: --folder DIR");
const everyMs = parseDuration(values.every);
const stepsPerSave = Number(values["steps-per-save"]);
const KEEP = 3;

const savedSteps = () =>
  existsSync(folder)
    ? readdirSync(folder)
        .flatMap((name) => /^checkpoint-(\d+)$/.exec(name)?.[1] ?? [])
        .map(Number)
        .toSorted((a, b) => a - b)
    : [];

mkdirSync(folder, { recursive: true });
for (const name of readdirSync(folder)) if (name.endsWith(".tmp")) rmSync(join(folder, name), { recursive: true });

let step = savedSteps().at(-1) ?? 0;
console.log(step === 0 ? "training from scratch" : `training goes on from step ${step}`);
let saves = 0;

function save(): void {
  step += stepsPerSave;
  const loss = 1.2 + 2.4 * Math.exp(-step / 4000) + Math.sin(step / 130) * 0.01;
  writeCheckpoint({
    folder: folder ?? "",
    step,
    modelBytes: parseSize(values.model),
    optimizerBytes: parseSize(values.optimizer),
    loss: Number(loss.toFixed(4)),
  });
  console.log(`step ${step} loss ${loss.toFixed(4)} saved`);
  for (const old of savedSteps().slice(0, -KEEP)) rmSync(join(folder ?? "", `checkpoint-${old}`), { recursive: true });
  saves += 1;
  if (saves >= Number(values.saves)) {
    console.log(`${saves} checkpoints written, training is over`);
    clearInterval(timer);
    // The node stays, so that its page and its checkpoints can be looked at.
    setInterval(() => undefined, 2 ** 30);
  }
}

const timer = setInterval(save, everyMs);
save();
