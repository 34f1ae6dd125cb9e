import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Tool as InstalledTool } from "#e2e/servers/install.ts";
import { baseEnvironment, type ToolTask, s3Address, type Tool } from "./tool.ts";

/** The peers in Go: rclone and s5cmd. */

const run = promisify(execFile);
const MIB = 1 << 20;
const TRANSFERS = 64;
const RCLONE_ONE_FILE =
  "--s3-upload-concurrency 10 --s3-chunk-size 10Mi --s3-upload-cutoff 0 --multi-thread-streams 10 --multi-thread-cutoff 10Mi --multi-thread-chunk-size 10Mi";
/** With `--s3-upload-cutoff 0` rclone would begin a multipart upload for a file of one part. */
const ONE_PART_BYTES = 10 * MIB;
const RCLONE_MANY_FILES = `--transfers ${TRANSFERS} --checkers ${TRANSFERS}`;

async function versionOf(tool: InstalledTool, ...args: string[]): Promise<{ version: string } | { missing: string }> {
  if ("missing" in tool) return tool;
  const { stdout } = await run(tool.program, args);
  return {
    version:
      stdout
        .trim()
        .split("\n")[0]
        ?.replace(/^rclone /, "") ?? "",
  };
}

/** Returns rclone, configured to move 10 parts of one file at a time; its own `--transfers` counts files. */
export function rclone(installed: InstalledTool): Tool {
  return {
    name: "rclone",
    title: "rclone",
    role: "peer",
    setup: `\`${RCLONE_ONE_FILE}\`; small files \`${RCLONE_MANY_FILES}\``,
    find: () => versionOf(installed, "version"),
    inFlight: ({ direction, names }) =>
      names !== null
        ? { parts: 1, partBytes: 64 << 10, files: TRANSFERS }
        : direction === "up"
          ? { parts: 10, partBytes: 10 * MIB, files: 1 }
          : null,
    command: (task) => {
      if ("missing" in installed) return null;
      const store = `:s3:${task.bucket}/${task.key}`;
      const ends = task.direction === "up" ? [task.path, store] : [store, task.path];
      const isFolder = task.names !== null;
      return {
        program: installed.program,
        args: [
          isFolder ? "copy" : "copyto",
          ...ends,
          "--config=",
          "--s3-provider=Other",
          "--s3-env-auth",
          "--s3-no-check-bucket",
          `--s3-endpoint=${task.endpoint}`,
          `--s3-region=${task.region}`,
          ...(task.caFile === null ? [] : ["--ca-cert", task.caFile]),
          ...(isFolder ? RCLONE_MANY_FILES.split(" ") : task.bytes > ONE_PART_BYTES ? RCLONE_ONE_FILE.split(" ") : []),
        ],
        env: baseEnvironment(task),
      };
    },
  };
}

const TEN_BY_TEN = ["-c", "10", "-p", "10"];

/** Parts in flight and part size of s5cmd for one file; null: its defaults (5 of 50 MiB). */
export interface S5cmdOptions {
  name: string;
  title: string;
  tuning: { parts: number; partMib: number } | null;
}

export function s5cmd(installed: InstalledTool, options: S5cmdOptions): Tool {
  const { tuning } = options;
  const flags = tuning === null ? [] : ["-c", String(tuning.parts), "-p", String(tuning.partMib)];
  return {
    name: options.name,
    title: options.title,
    role: "peer",
    setup: tuning === null ? "as it comes: 5 parts of 50 MiB, 256 workers" : `\`cp ${flags.join(" ")}\``,
    find: () => versionOf(installed, "version"),
    inFlight: ({ names }) =>
      names !== null
        ? { parts: 1, partBytes: 64 << 10, files: 256 }
        : { parts: tuning?.parts ?? 5, partBytes: (tuning?.partMib ?? 50) * MIB, files: 1 },
    command: (task) => {
      if ("missing" in installed) return null;
      // 256 workers move a folder anyway, so part flags would have no effect.
      const requested = task.setting === "ten-by-ten" ? TEN_BY_TEN : flags;
      const asks = task.names === null ? requested : [];
      return {
        program: installed.program,
        args: ["--log", "error", "--endpoint-url", task.endpoint, "cp", ...asks, ...s5cmdEnds(task)],
        env: baseEnvironment(task),
      };
    },
  };
}

function s5cmdEnds(task: ToolTask): [string, string] {
  const isFolder = task.names !== null;
  if (task.direction === "up") {
    return isFolder ? [join(task.path, "*"), `${s3Address(task)}/`] : [task.path, s3Address(task)];
  }
  return isFolder ? [`${s3Address(task)}/*`, `${task.path}/`] : [s3Address(task), task.path];
}
