import { parseArgs } from "node:util";
import { FAULT_CLASSES } from "../faults/table.ts";
import type { Direction } from "../faults/toxics.ts";

/** Options of `npm run prove`. */
export interface Options {
  /** Empty for all. */
  readonly classes: readonly string[];
  readonly directions: readonly Direction[];
  readonly seed: number;
  /** Trials per class, over both directions; null for the number in the bar. */
  readonly count: number | null;
  readonly lanes: number;
  /** Minutes after which nothing new begins; null for no limit. */
  readonly minutes: number | null;
  /** Restricts the run to classes, or to measures; null for both. */
  readonly only: "classes" | "measures" | null;
  readonly measures: readonly string[];
  /** Discards results of earlier runs of the same program. */
  readonly isFresh: boolean;
  /** Waits and file sizes of a replay: as in the tests, or as in the full counts. */
  readonly scale: "short" | "full";
  /** A single trial is replayed: it is printed in full and not recorded. */
  readonly isReplay: boolean;
}

export const HELP = `npm run prove [-- --class NAME] [--seed N] [--count N] [--direction up|down] [--lanes N] [--minutes N]
              [--only classes|measures] [--measure NAME] [--fresh] [--short]
npm run prove -- images | peers | large-fleet | strangers [--minutes N] [--seed N] [--replay SEED] [--row N] [--only rows|holds|fuzz]
npm run prove -- frameworks [--here] | layouts [NAME...]
npm run prove -- situations [ROOT...]
npm run prove -- tls [--count N] [--seed N]
npm run prove -- keys [--count N]
npm run prove -- network [--count N] [--class NAME]
npm run prove -- jobs [--jobs N] [--nodes N] [--minutes N] [--seed N]
npm run prove -- postgres [PATH...]
npm run prove -- alone [--count N] [--minutes N] [--only kills|writers|clock|absence] [--class NAME] [--seed N]

Without anything: the full counts of the reliability bar, which take hours. Every trial is recorded as it ends, so a
run that was stopped goes on where it was. Ends by writing docs/reliability.json and docs/reliability.md.
With --minutes nothing is begun after so long; the page is written of what was found until then.
With --class and --seed (and --direction): that one trial, told in full; with --short as the tests run it.

images: both targets of the Dockerfile are built and started, the worker in bare Debian 11, 12, 13 too (Debian, root).
large-fleet: the browser story of a large fleet with three thousand nodes; the gate tells it with four hundred.
peers: conformance over MinIO, rclone, every engine of the benchmarks: what takes minutes to build with Go.
strangers: what nodes, tokens and unknown callers may send: known attacks, then the whole router for some minutes (5).
frameworks: real training frameworks, killed twice over three nodes: Python 3.12 (or PYTHON), 8 GB of disk. Writes docs/frameworks.md, unless --here watches the working folder instead of a named one.
layouts: records what each of them leaves in its folder for the process tests (e2e/layouts).
tls: the executable copies to a store behind TLS and back while connections are reset, closed, held and damaged.
keys: copies there and back with keys of each kind (role, SSO, program, web identity, container, instance) that end many times on the way.
alone: training without a hub while its program, worker and store are killed, two machines write it, clocks are wrong, the store is away.
postgres: the unit tests of the hub with PostgreSQL in place of SQLite, then a hub on it, killed and behind a pooler (Debian, root).
jobs: nodes take the jobs of a queue while the hub and the nodes are killed: every job is completed once.
situations: every test that e2e/situations names, by root. Without a number it writes docs/situations.md.

Classes: ${FAULT_CLASSES.map(({ name }) => name).join(", ")}`;

/** Parses the options. @throws Error with one sentence when something is wrong */
export function readOptions(argv: readonly string[], measures: readonly string[]): Options | "help" {
  const { values } = parseArgs({
    args: [...argv],
    strict: true,
    options: {
      class: { type: "string", multiple: true, default: [] as string[] },
      direction: { type: "string" },
      seed: { type: "string" },
      count: { type: "string" },
      lanes: { type: "string", default: "6" },
      minutes: { type: "string" },
      only: { type: "string" },
      measure: { type: "string", multiple: true, default: [] as string[] },
      short: { type: "boolean", default: false },
      fresh: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  const known = FAULT_CLASSES.map(({ name }) => name);
  const unknown = values.class.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`There is no class "${unknown}". Classes: ${known.join(", ")}.`);
  const lost = values.measure.find((name) => !measures.includes(name));
  if (lost !== undefined) throw new Error(`There is no measure "${lost}". Measures: ${measures.join(", ")}.`);
  const { direction, only } = values;
  if (direction !== undefined && direction !== "up" && direction !== "down") {
    throw new Error("--direction is up or down.");
  }
  if (only !== undefined && only !== "classes" && only !== "measures") {
    throw new Error("--only is classes or measures.");
  }
  const count = values.count === undefined ? null : whole("--count", values.count);
  return {
    classes: values.class,
    directions: direction === undefined ? ["up", "down"] : [direction],
    seed: values.seed === undefined ? 1 : whole("--seed", values.seed),
    count,
    lanes: whole("--lanes", values.lanes),
    minutes: values.minutes === undefined ? null : whole("--minutes", values.minutes),
    only: only ?? (values.measure.length > 0 ? "measures" : values.class.length > 0 ? "classes" : null),
    measures: values.measure,
    scale: values.short ? "short" : "full",
    isFresh: values.fresh,
    isReplay: values.seed !== undefined && count === null,
  };
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new Error(`${name} is a whole number of at least 1, not "${text}".`);
}
