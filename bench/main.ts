import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CannotRun } from "#e2e/link/cannot-run.ts";
import { whyNoLink } from "#e2e/link/emulator.ts";
import { ROOT } from "#e2e/stage/start-process.ts";
import { BenchError } from "./bench-error.ts";
import { type BenchCase, type Direction, HISTORY_CASE, linkRate } from "./cases.ts";
import { runHistory } from "./history/run-history.ts";
import { HELP, type Options, readOptions } from "./options.ts";
import { benchBrowser } from "./browser/main.ts";
import { describeMachine } from "./report/describe-machine.ts";
import { readResults, type Result, RESULTS, type Run, writeResult } from "./report/results.ts";
import { benchmarksPage, resultTable } from "./report/write-markdown.ts";
import { benchFirstByte } from "./first-byte/main.ts";
import { benchFleet } from "./fleet/main.ts";
import { benchJobs } from "./jobs/main.ts";
import { benchLinks } from "./links/main.ts";
import { benchLists } from "./lists/main.ts";
import { benchRuns } from "./runs/main.ts";
import { benchSafe } from "./safe/main.ts";
import { runCase } from "./run-case.ts";
import { benchSigning } from "./signing.ts";
import { bytesOf, type Shape } from "./stage/make-payload.ts";
import { openStage, type Stage } from "./stage/open-stage.ts";
import { benchPacks } from "./packs/main.ts";
import { benchPage } from "./page/main.ts";
import { benchOpenings } from "./page/openings.ts";
import { benchTraining } from "./training/main.ts";
import { findTools, type ReadyTool } from "./tools/find-tools.ts";
import { personalSettings } from "./tools/tidemark.ts";

/** `npm run bench`: compares Tidemark with its peers, in turns, on loopback and across emulated links. */

const PAGE = join(ROOT, "docs/benchmarks.md");
const run = promisify(execFile);

/** Returns a signal that Ctrl-C aborts, which ends the transfer and runs the cleanup. A second Ctrl-C exits at once. */
function listenForSignals(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(130);
      console.log("\nStopping.");
      controller.abort(new BenchError("Stopped."));
    });
  }
  return controller.signal;
}

function shapeFor(benchCase: BenchCase, { sizeBytes }: Options): Shape {
  const { shape } = benchCase;
  if (sizeBytes === null) return shape;
  if (shape.kind === "file") return { kind: "file", bytes: sizeBytes };
  return { ...shape, files: Math.max(1, Math.round(sizeBytes / shape.fileBytes)) };
}

function tell(benchCase: BenchCase, shape: Shape, given: { direction: Direction; run: Run }): void {
  const { direction, run } = given;
  const start = `  ${direction.padEnd(4)} ${run.tool.padEnd(12)} ${run.round}`;
  if (run.failure !== null || run.wallSeconds === null) {
    console.log(`${start}  FAILED: ${run.failure}`);
    return;
  }
  const bits = bytesOf(shape) * 8;
  const rate = linkRate(benchCase, direction);
  const speed =
    rate === null
      ? `${(bits / run.wallSeconds / 1e6).toFixed(0).padStart(6)} Mbit/s`
      : `${(bits / run.wallSeconds / rate).toFixed(3)} of the link`;
  const cpu = (run.cpuSeconds ?? 0) / (bytesOf(shape) / 1e9);
  const rss = ((run.peakRssKib ?? 0) * 1024) / 1e6;
  console.log(
    `${start}  ${speed}  ${run.wallSeconds.toFixed(2).padStart(7)} s  ${cpu.toFixed(2).padStart(6)} CPU s/GB  ${rss.toFixed(0).padStart(5)} MB`,
  );
}

function tellHowToReach(stage: Stage): void {
  const { server, link } = stage;
  const inside = link === null ? "" : `nsenter --net=${link.clientNetns} `;
  const lines = [
    `export AWS_ENDPOINT_URL=${server.endpoint} AWS_REGION=${server.region} AWS_ACCESS_KEY_ID=${server.accessKey} AWS_SECRET_ACCESS_KEY=${server.secretKey}`,
    ...(server.caFile === null ? [] : [`export AWS_CA_BUNDLE=${server.caFile} NODE_EXTRA_CA_CERTS=${server.caFile}`]),
    `${inside}node dist/tidemark.mjs cp ${join(stage.folder, "source")} s3://${server.bucket}/key`,
    ...(link === null ? [] : [`client namespace ${link.clientNetns}, server namespace ${link.serverNetns}`]),
  ];
  console.log(`\nLink and server stay up until Ctrl-C:\n\n${lines.map((line) => `  ${line}\n`).join("")}`);
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    // The timer keeps the process alive while it waits.
    const timer = setInterval(() => undefined, 60_000);
    const finish = (): void => {
      clearInterval(timer);
      resolve();
    };
    if (signal.aborted) finish();
    else signal.addEventListener("abort", finish, { once: true });
  });

interface Given {
  options: Options;
  ready: readonly ReadyTool[];
  missing: ReadonlyMap<string, string>;
  signal: AbortSignal;
}

async function benchOne(benchCase: BenchCase, given: Given): Promise<Result[]> {
  const { options, ready, missing, signal } = given;
  console.log(`\n${benchCase.name}: ${benchCase.title}`);
  const shape = shapeFor(benchCase, options);
  await using stage = await openStage(benchCase, options);
  const { directions, repeat } = options;
  const machine = await describeMachine({
    congestion: options.congestion,
    link: benchCase.link,
    server: stage.server.name,
  });
  const runs = await runCase({
    benchCase,
    stage,
    shape,
    tools: ready,
    directions,
    repeat,
    signal,
    onRun: (direction, run) => tell(benchCase, shape, { direction, run }),
  });
  if (stage.link !== null) {
    const counts = await stage.link.counts();
    if (counts.up.refused + counts.down.refused > 0)
      console.log("  The emulator could not keep up; do not trust this.");
  }
  const results = directions.map((direction): Result => ({
    case: benchCase.name,
    direction,
    ...machine,
    command: `npm run bench -- ${process.argv.slice(2).join(" ")}`.trim(),
    bytes: bytesOf(shape),
    files: shape.kind === "folder" ? shape.files : 1,
    tools: ready.map(({ tool, version }) => ({
      name: tool.name,
      title: tool.title,
      role: tool.role,
      setup: tool.setup,
      version,
      inFlight: tool.inFlight({ direction, names: shape.kind === "folder" ? [] : null }),
    })),
    missing: Object.fromEntries(missing),
    runs: runs[direction],
  }));
  for (const result of results) console.log(`\n${result.direction}\n\n${resultTable(result, benchCase)}`);
  if (options.keep) {
    tellHowToReach(stage);
    await untilAborted(signal);
  }
  return results;
}

async function writePage(): Promise<void> {
  await writeFile(PAGE, benchmarksPage(await readResults(RESULTS)));
  console.log("docs/benchmarks.md is written.");
}

async function benchAll(options: Options): Promise<void> {
  const settings = Object.keys(personalSettings());
  if (options.save && settings.length > 0) {
    throw new BenchError(
      `Published numbers are of the default settings: unset ${settings.join(", ")}, or leave --save out.`,
    );
  }
  if (process.platform !== "linux")
    throw new BenchError("The benchmarks need Linux: they count CPU and memory as its kernel does.");
  const signal = listenForSignals();
  if (options.build && options.tools.some((name) => name === "tidemark" || name === "again")) {
    await run(process.execPath, ["worker/build.ts"], { cwd: ROOT }).catch((error: unknown) => {
      throw new BenchError(
        "dist/tidemark.mjs could not be built; npm run build:worker says why. --no-build uses it as it is.",
        error,
      );
    });
  }
  const stateFolder = await mkdtemp(join(tmpdir(), "tidemark-bench-state-"));
  try {
    const { ready, missing } = await findTools({ names: options.tools, otherBuild: options.otherBuild, stateFolder });
    for (const [name, why] of missing) console.log(`${name} is not measured: ${why}`);
    const why = whyNoLink();
    for (const benchCase of options.cases) {
      if (signal.aborted) break;
      if (benchCase.link !== null && why !== null) {
        console.log(`\n${benchCase.name} is not run: ${why}.`);
        process.exitCode = 1;
        continue;
      }
      const results = await benchOne(benchCase, { options, ready, missing, signal });
      if (options.save) for (const result of results) await writeResult(result, RESULTS);
    }
  } finally {
    await rm(stateFolder, { recursive: true, force: true });
  }
  if (options.save) await writePage();
}

/** Benchmarks other than transfers, with their own options. */
const OTHERS: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = {
  browser: benchBrowser,
  "first-byte": benchFirstByte,
  fleet: benchFleet,
  [HISTORY_CASE]: runHistory,
  jobs: benchJobs,
  links: benchLinks,
  lists: benchLists,
  openings: benchOpenings,
  packs: benchPacks,
  page: benchPage,
  runs: benchRuns,
  safe: benchSafe,
  training: benchTraining,
};

try {
  const [first = "", ...rest] = process.argv.slice(2);
  const other = OTHERS[first];
  if (other === undefined) {
    const options = readOptions(process.argv.slice(2));
    if (options.help) console.log(HELP);
    else if (options.report) await writePage();
    else if (options.signing) await benchSigning(options.repeat);
    else await benchAll(options);
  } else await other(rest);
} catch (error) {
  console.error(error instanceof CannotRun ? error.message : error);
  process.exitCode = 1;
}
