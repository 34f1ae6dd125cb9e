import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "#e2e/stage/start-process.ts";
import type { Command } from "../measure/measure.ts";
import { baseEnvironment, type ToolTask, s3Address, type Tool } from "./tool.ts";

/** Build of Tidemark to run, and its name. */
export interface TidemarkOptions {
  name: string;
  title: string;
  /** An executable, or a module for Node (`.mjs`). */
  build: string;
  /** Folder that keeps what is learned about the store between runs; null: every run is the first on its node. */
  stateFolder: string | null;
}

const EXECUTABLE = join(ROOT, "dist/tidemark");
/** Returns the executable that is copied to nodes; where it was not built, the module. */
export const ownBuild = (): string => (existsSync(EXECUTABLE) ? EXECUTABLE : `${EXECUTABLE}.mjs`);

/** Returns Tidemark with its default settings, changed by the TIDEMARK_* variables of this environment. */
export function tidemark(options: TidemarkOptions): Tool {
  return {
    name: options.name,
    title: options.title,
    role: "own",
    setup: "`tidemark cp`, default settings",
    find: () =>
      Promise.resolve(
        existsSync(options.build)
          ? { version: `Node ${process.versions.node}` }
          : { missing: `${options.build} does not exist` },
      ),
    command: (task) => tidemarkCommand(options, task),
    inFlight: () => null,
  };
}

function tidemarkCommand(options: TidemarkOptions, task: ToolTask): Command {
  const isFolder = task.names !== null;
  const store = s3Address(task) + (isFolder ? "/" : "");
  const ends = task.direction === "up" ? [task.path, store] : [store, task.path];
  const sizes = task.setting === "ten-by-ten" ? ["--concurrency", "10", "--part-size", "10MB"] : [];
  const isModule = options.build.endsWith(".mjs");
  return {
    program: isModule ? process.execPath : options.build,
    args: [...(isModule ? [options.build] : []), "cp", ...sizes, ...ends],
    env: {
      ...baseEnvironment(task),
      TIDEMARK_STATE: options.stateFolder ?? join(task.scratch, "state"),
      ...personalSettings(),
      TIDEMARK_ENDPOINT: task.endpoint,
    },
  };
}

/** Returns the TIDEMARK_* variables of this environment, without those of keys, tokens and hubs. */
export function personalSettings(): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (name.startsWith("TIDEMARK_") && value !== undefined && !/KEY|TOKEN|HUB/.test(name)) settings[name] = value;
  }
  return settings;
}
