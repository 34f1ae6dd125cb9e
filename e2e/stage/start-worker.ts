import { type RunningProcess, startProcess } from "./start-process.ts";

export interface WorkerOptions {
  /** Null runs without a hub; `flags` then contain `--to`. */
  hubUrl: string | null;
  stateDir: string;
  name: string;
  /** Only needed at the first start. Later the worker has its own credential. */
  token?: string;
  watch?: string;
  /** Starts it in the folder `watch`, which no flag names. */
  isThere?: true;
  run?: string;
  /** Further flags, for example `["--limit-up", "4MB"]`. */
  flags?: string[];
  /** Starts `tidemark run` with this program instead of the agent. */
  program?: readonly string[];
  /** Starts `tidemark work`, which takes jobs of this queue, instead of the agent. */
  queue?: string;
  /** As in `StartOptions`. */
  under?: readonly string[];
  env?: Record<string, string>;
  onLine?: (line: string) => void;
  /** Default: `testedWorker()`. */
  entry?: string;
}

export const WORKER_SOURCES = "worker/main.ts";
/** Path of the built worker: what images contain, where it can be built. It starts with a third of the CPU time of the sources. */
export const BUILT_WORKER = process.platform === "linux" ? "dist/tidemark" : "dist/tidemark.mjs";
/** Returns the worker that tests start: the built one in the gate, else the sources. */
export const testedWorker = (): string => process.env["GATE_WORKER"] ?? WORKER_SOURCES;

/** Starts the real worker, as an agent or around a program. Resolves when the process runs; query the hub for its progress. */
export function startWorker(options: WorkerOptions): Promise<RunningProcess> {
  const command = options.queue !== undefined ? "work" : options.program === undefined ? "agent" : "run";
  const args = [command, "--state", options.stateDir, "--name", options.name];
  if (options.hubUrl !== null) args.push("--hub", options.hubUrl);
  if (options.queue !== undefined) args.push("--queue", options.queue);
  const { watch, isThere = false } = options;
  if (watch !== undefined && command !== "work" && !isThere) args.push("--watch", watch);
  if (options.run !== undefined) args.push("--run", options.run);
  return startProcess({
    title: `worker ${options.name}`,
    entry: options.entry ?? testedWorker(),
    args: [...args, ...(options.flags ?? []), ...(options.program === undefined ? [] : ["--", ...options.program])],
    ...(isThere && watch !== undefined && { cwd: watch }),
    ...(options.under === undefined ? {} : { under: options.under }),
    env: { ...(options.token === undefined ? {} : { TIDEMARK_TOKEN: options.token }), ...options.env },
    ...(options.onLine === undefined ? {} : { onLine: options.onLine }),
  });
}
