import { spawnSync } from "node:child_process";
import { killTraining } from "../stage/kill-training.ts";
import { openStage } from "../stage/open-stage.ts";
import type { Measure } from "./measure.ts";

const KILLS = 50;
const REPLAYED = ["replay-trainer", "replay-lightning", "replay-dcp"];
/** Real libraries, tested where `PYTHON` (default python3) has them. */
const REAL = { trainer: "transformers", lightning: "pytorch_lightning", dcp: "torch.distributed.checkpoint" };

const python = (): string => process.env["PYTHON"] ?? "python3";
const has = (module: string): boolean => spawnSync(python(), ["-c", `import ${module}`]).status === 0;

/** A training program under `tidemark run`, killed together with its worker while it trains and while it writes. */
export const trainingKills: Measure = {
  name: "training-kills",
  row: 20,
  says: `${KILLS} kills of a training program and its worker, for each way of writing checkpoints`,
  whyNot: () => (has("json") ? null : `there is no Python 3 as "${python()}" (set PYTHON)`),
  run: async () => {
    const kinds = [...REPLAYED, ...Object.entries(REAL).flatMap(([kind, module]) => (has(module) ? [kind] : []))];
    const problems: string[] = [];
    const figures: string[] = [];
    const stage = await openStage();
    try {
      for (const [at, kind] of kinds.entries()) {
        const killed = await killTraining(stage, { kind, kills: KILLS, seed: at + 1 });
        figures.push(`${kind}: ${killed.losses} interruptions, ${killed.lostSteps} steps done again`);
        problems.push(...killed.problems.map((problem) => `${kind}: ${problem}`));
      }
    } finally {
      await stage.close();
    }
    return { runs: kinds.length * KILLS, problems, figures };
  },
};
