import { createRigPool } from "./rig-pool.ts";
import { FAULT_CLASSES } from "./table.ts";
import { runTrial } from "./trial.ts";

const only = process.argv.slice(2);
const seeds = Number(process.env.SEEDS ?? 2);
const first = Number(process.env.SEED ?? 1);
const jobs = FAULT_CLASSES.filter((c) => only.length === 0 || only.includes(c.name)).flatMap((faultClass) =>
  faultClass.directions.flatMap((direction) =>
    Array.from({ length: seeds }, (_, i) => ({ faultClass, direction, seed: first + i, scale: "short" as const })),
  ),
);
const pool = createRigPool({ program: process.env.PROGRAM ?? "/tmp/faults-h/tidemark.mjs", size: "small" });
const lane = async () => {
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
    const j = job;
    const r = await pool.use(j.faultClass, (rig) => runTrial(rig, j));
    console.log(
      r.problems.length === 0 ? "ok  " : "BAD ",
      r.class,
      r.direction,
      r.seed,
      `${r.ending} faults=${r.faults} resent=${r.resentBytes} ${r.tookMs}ms`,
      ...r.problems.map((p) => `\n      - ${p.slice(0, 400)}`),
    );
  }
};
await Promise.all(Array.from({ length: Number(process.env.LANES ?? 3) }, lane));
await pool.close();
