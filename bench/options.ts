import { parseArgs } from "node:util";
import { BenchError } from "./bench-error.ts";
import { readCount } from "./read-count.ts";
import { type BenchCase, CASES, type Direction, DIRECTIONS, HISTORY_CASE } from "./cases.ts";
import { SERVER_NAMES, type ServerName } from "./stage/start-server.ts";
import { TOOL_NAMES, type ToolName, USUAL_TOOLS } from "./tools/find-tools.ts";

export interface Options {
  cases: readonly BenchCase[];
  tools: readonly ToolName[];
  directions: readonly Direction[];
  repeat: number;
  /** Bytes to move instead of what the case says. */
  sizeBytes: number | null;
  congestion: string;
  /** Null: the server of the case. */
  server: ServerName | null;
  otherBuild: string | null;
  /** Leaves link and server up until Ctrl-C. */
  keep: boolean;
  build: boolean;
  /** Stores the results with the published ones, and writes the page. */
  save: boolean;
  /** Only writes the page again. */
  report: boolean;
  help: boolean;
  /** Measures signatures instead of transfers. */
  signing: boolean;
}

export const HELP = `npm run bench [-- CASE... [--tools a,b] [--direction up|down] [--repeat N] [--size MB] [--save]]

       npm run bench -- fleet      a hub and thousands of simulated nodes; --help says more
       npm run bench -- page       what its pages cost the browser meanwhile; --help says more
       npm run bench -- openings   how soon pages are there, and answer; --help says more
       npm run bench -- training   what saving costs the training beside it; --help says more
       npm run bench -- browser    a large file up and down through Chromium, over a long link; --help says more
       npm run bench -- links      a fleet benchmark over emulated links, beside what they allow; --help says more
       npm run bench -- lists      a bucket of a million keys, a run of thousands of checkpoints; --help says more
       npm run bench -- runs       how long \`tidemark runs\` lists a bucket of many checkpoints; --help says more
       npm run bench -- jobs       how long claims take over a long queue, and what idle workers cost; --help says more
       npm run bench -- safe       time until a checkpoint is safe, with a hub and with a bucket alone; --help says more
       npm run bench -- first-byte how long each tool takes from its start to the first byte on the wire; --help says more
       npm run bench -- packs      a checkpoint of many small files, packed and file by file; --help says more

Cases: ${CASES.map(({ name }) => name).join(", ")}; all when none is named.
       signing (alone): what a thousand signatures cost, beside the AWS SDK's signer
       ${HISTORY_CASE}, alone: what history takes on the disk and how long its questions take; ${HISTORY_CASE} --help
Tools: ${TOOL_NAMES.join(", ")}.

  --tools a,b        only these; "again" is Tidemark that knows the store, "other" the build of --other
  --direction up     only uploads, or only downloads
  --repeat N         rounds (3)
  --size MB          move this much instead of what the case says; never saved
  --cc NAME          TCP congestion control on emulated links (cubic)
  --server NAME      minio or versitygw instead of what the case says
  --other FILE       another build (tidemark.mjs or the executable), to compare two in one run
  --no-build         use what is in dist/ as it is
  --keep             leave link and server up and print how to reach them, until Ctrl-C
  --save             keep the results in bench/results/ and write docs/benchmarks.md
  --report           only write docs/benchmarks.md again from bench/results/
`;

const SIGNING = "signing";

/** Parses the command line. @throws BenchError that says what was not understood */
export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args);
  const repeat = readCount("--repeat", values.repeat ?? "3");
  const isSigning = positionals.length === 1 && positionals[0] === SIGNING;
  const sizeMb = values.size === undefined ? null : readCount("--size", values.size);
  if (values.save === true && sizeMb !== null)
    throw new BenchError("--save keeps results of full size only: leave --size out.");
  return {
    cases: isSigning ? [] : positionals.length === 0 ? CASES : positionals.map(findCase),
    signing: isSigning,
    tools: values.tools === undefined ? USUAL_TOOLS : values.tools.split(",").map(findTool),
    directions: values.direction === undefined ? DIRECTIONS : [findDirection(values.direction)],
    repeat,
    sizeBytes: sizeMb === null ? null : sizeMb * 1_000_000,
    congestion: values.cc ?? "cubic",
    server: values.server === undefined ? null : findServer(values.server),
    otherBuild: values.other ?? null,
    keep: values.keep ?? false,
    build: !(values["no-build"] ?? false),
    save: values.save ?? false,
    report: values.report ?? false,
    help: values.help ?? false,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        tools: { type: "string" },
        direction: { type: "string" },
        repeat: { type: "string" },
        size: { type: "string" },
        cc: { type: "string" },
        server: { type: "string" },
        other: { type: "string" },
        "no-build": { type: "boolean" },
        keep: { type: "boolean" },
        save: { type: "boolean" },
        report: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new BenchError(error instanceof Error ? error.message : String(error), error);
  }
}

function findCase(name: string): BenchCase {
  const found = CASES.find((benchCase) => benchCase.name === name);
  if (found === undefined) {
    throw new BenchError(`There is no case "${name}". Cases: ${CASES.map((benchCase) => benchCase.name).join(", ")}.`);
  }
  return found;
}

function findTool(name: string): ToolName {
  const found = TOOL_NAMES.find((tool) => tool === name);
  if (found === undefined) throw new BenchError(`There is no tool "${name}". Tools: ${TOOL_NAMES.join(", ")}.`);
  return found;
}

function findDirection(name: string): Direction {
  const found = DIRECTIONS.find((direction) => direction === name);
  if (found === undefined) throw new BenchError(`--direction is up or down, not "${name}".`);
  return found;
}

function findServer(name: string): ServerName {
  const found = SERVER_NAMES.find((server) => server === name);
  if (found === undefined) throw new BenchError(`--server is one of ${SERVER_NAMES.join(", ")}, not "${name}".`);
  return found;
}
