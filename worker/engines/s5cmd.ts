import { keyedEnvironment } from "./base-environment.ts";
import type { Driver, Sizes } from "./driver.ts";
import { findProgram, reading } from "./find-program.ts";

/** Runs s5cmd, whose part size is in whole MiB, at least 5. */

const MIB = 1024 * 1024;
const partMib = ({ partBytes }: Sizes): number => Math.max(5, Math.round(partBytes / MIB));

export const s5cmd: Driver = {
  name: "s5cmd",
  exits: {},
  holds: (task) => partMib(task) * MIB * task.connections,
  find: (where) =>
    findProgram(
      { names: ["s5cmd"], args: ["version"], read: reading(/^v?(\d\S*)/), hint: "https://github.com/peak/s5cmd" },
      where,
    ),
  command: (task, found) => {
    const store = `s3://${task.access.bucket}/${task.key}`;
    const ends = task.direction === "up" ? [task.path, store] : [store, task.path];
    const sizes = ["-c", String(task.connections), "-p", String(partMib(task))];
    return {
      program: found.program,
      args: ["--log", "error", "--endpoint-url", task.access.endpoint, "cp", ...sizes, ...ends],
      env: keyedEnvironment(task, found),
    };
  },
};
