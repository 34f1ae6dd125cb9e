import { parseArgs } from "node:util";
import { ENGINE_NAMES, isEngine, type EngineName } from "#protocol/benchmarks/engines.ts";
import { BenchError } from "../bench-error.ts";

export const LINKS_HELP = `npm run bench -- links [--nodes N] [--size MB] [--seed N] [--engines a,b] [--per-bucket N] [--no-kill] [--save | --report]

A fleet benchmark over real workers, each behind emulated links of its own, three stores and the hub, and what it told
beside what those links allow. Needs root.

  --nodes N        workers (20)
  --size MB        what each case moves (27)
  --seed N         decides the links, and the order of the cases (7)
  --engines a,b    what is compared (tidemark,sdk,boto3,rclone): ${ENGINE_NAMES.join(", ")}
  --per-bucket N   turns side by side in each bucket (2)
  --no-kill        kill no node in its turn: the hub waits 10 minutes for one that went away
  --save           keep what was found in bench/results/links.json and write docs/fleet-benchmark.md
  --report         only write docs/fleet-benchmark.md again`;

export interface LinksOptions {
  nodes: number;
  bytes: number;
  seed: number;
  engines: EngineName[];
  perBucket: number;
  kill: "one" | "none";
  save: boolean;
}

const MB = 1_000_000;
/** Smallest part that S3 allows except the last; engines use no smaller ones. */
const LEAST_PART_BYTES = 5 * 1024 * 1024;
const MOST_CONNECTIONS = 10;

/** Parses the command line. @throws BenchError that says what was not understood */
export function readLinksOptions(args: readonly string[]): LinksOptions | "help" | "report" {
  const { values } = parse(args);
  if (values.help) return "help";
  if (values.report) return "report";
  const count = (name: "nodes" | "size" | "seed" | "per-bucket", least: number): number => {
    const number = Number(values[name]);
    if (Number.isInteger(number) && number >= least) return number;
    throw new BenchError(`--${name} takes a whole number from ${least}, not "${values[name]}".`);
  };
  const engines = values.engines.split(",").map((name) => {
    if (isEngine(name)) return name;
    throw new BenchError(`There is no engine "${name}". Engines: ${ENGINE_NAMES.join(", ")}.`);
  });
  const kill = values["no-kill"] ? "none" : "one";
  const bytes = count("size", 6) * MB;
  const rest = { engines, kill, save: values.save } as const;
  return { nodes: count("nodes", 1), bytes, seed: count("seed", 0), perBucket: count("per-bucket", 1), ...rest };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        nodes: { type: "string", default: "20" },
        size: { type: "string", default: "27" },
        seed: { type: "string", default: "7" },
        engines: { type: "string", default: "tidemark,sdk,boto3,rclone" },
        "per-bucket": { type: "string", default: "2" },
        "no-kill": { type: "boolean", default: false },
        save: { type: "boolean", default: false },
        report: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    throw new BenchError(error instanceof Error ? error.message : String(error), error);
  }
}

/** Returns part size and connections so that all parts are in flight at once: then only the link decides how long a case takes. */
export function partsOf(bytes: number): { partBytes: number; connections: number } {
  const connections = Math.min(MOST_CONNECTIONS, Math.max(1, Math.floor(bytes / LEAST_PART_BYTES)));
  return { connections, partBytes: Math.max(LEAST_PART_BYTES, Math.ceil(bytes / connections)) };
}
