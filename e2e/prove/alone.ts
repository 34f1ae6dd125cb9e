import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { bundleProgram } from "../faults/bundle.ts";
import { proveAbsence } from "./alone/prove-absence.ts";
import { proveClock } from "./alone/prove-clock.ts";
import { proveKills } from "./alone/prove-kills.ts";
import { proveWriters } from "./alone/prove-writers.ts";

/**
 * `npm run prove -- alone [--count N] [--minutes N] [--only kills|writers|clock|absence] [--class NAME]... [--seed N]`: trains
 * without a hub while programs, workers and the store are killed, two machines write one run, clocks are wrong and the store
 * is away. Every complete checkpoint must equal what was written, and every start must resume from the newest.
 */

const PARTS = ["kills", "writers", "clock", "absence"] as const;
type Part = (typeof PARTS)[number];

/** Parses a number above 0. @throws Error with one sentence */
function readNumber(name: string, text: string): number {
  const value = Number(text);
  if (value > 0) return value;
  throw new Error(`${name} is a number above 0, not "${text}".`);
}

/** Runs the proof and returns the exit code. */
export async function proveAlone(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    strict: true,
    options: {
      count: { type: "string", default: "100" },
      minutes: { type: "string", default: "10" },
      seed: { type: "string", default: "1" },
      only: { type: "string", multiple: true, default: [] as string[] },
      class: { type: "string", multiple: true, default: [] as string[] },
    },
  });
  const unknown = values.only.find((name) => !PARTS.some((part) => part === name));
  if (unknown !== undefined) throw new Error(`--only is one of ${PARTS.join(", ")}, not "${unknown}".`);
  const [count, minutes] = [readNumber("--count", values.count), readNumber("--minutes", values.minutes)];
  const [seed, only] = [readNumber("--seed", values.seed), values.class];
  const isWanted = (part: Part) => values.only.length === 0 || values.only.includes(part);
  const path = await bundleProgram();
  process.env["GATE_WORKER"] = path;
  let failed = 0;
  try {
    if (isWanted("kills")) failed += await proveKills({ count, seed, only });
    if (isWanted("writers")) failed += await proveWriters({ minutes, seed, only });
    if (isWanted("clock")) failed += await proveClock();
    if (isWanted("absence")) failed += await proveAbsence(minutes);
  } finally {
    rmSync(dirname(path), { recursive: true, force: true });
  }
  console.log(failed === 0 ? "All held." : `${failed} not as they should be.`);
  return failed === 0 ? 0 : 1;
}
