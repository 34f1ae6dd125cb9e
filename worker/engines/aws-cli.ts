import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isPathAddressed } from "#storage/signing/signing.ts";
import { keyedEnvironment } from "./base-environment.ts";
import type { Driver, TransferTask } from "./driver.ts";
import { findProgram, reading } from "./find-program.ts";

/** Runs the aws command, version 1 or 2. It reads its settings, which hold no secret, from a file. */
export const awsCli: Driver = {
  name: "aws-cli",
  // https://docs.aws.amazon.com/cli/latest/userguide/cli-usage-returncodes.html
  exits: { 252: "BAD_INPUT", 253: "BAD_CREDENTIALS" },
  holds: ({ partBytes, connections }) => partBytes * connections,
  find: (where) =>
    findProgram(
      { names: ["aws"], args: ["--version"], read: reading(/^aws-cli\/(\S+)/), hint: "pip install awscli" },
      where,
    ),
  command: async (task, found) => {
    const config = join(task.scratch, "aws-config");
    await writeFile(config, configOf(task));
    const store = `s3://${task.access.bucket}/${task.key}`;
    const ends = task.direction === "up" ? [task.path, store] : [store, task.path];
    return {
      program: found.program,
      args: ["--endpoint-url", task.access.endpoint, "s3", "cp", "--only-show-errors", ...ends],
      env: { ...keyedEnvironment(task, found), AWS_CONFIG_FILE: config },
    };
  },
};

const configOf = ({ connections, partBytes, access }: TransferTask): string =>
  [
    "[default]",
    "s3 =",
    `  max_concurrent_requests = ${connections}`,
    `  multipart_chunksize = ${partBytes}`,
    `  multipart_threshold = ${partBytes}`,
    `  addressing_style = ${isPathAddressed(access) ? "path" : "virtual"}`,
    "",
  ].join("\n");
