import { Fault } from "#protocol/faults/fault.ts";
import { plainEnvironment } from "./base-environment.ts";
import type { Driver } from "./driver.ts";
import { findProgram, reading } from "./find-program.ts";

/**
 * Runs uplink, Storj's own program, which talks to storage nodes directly. Each flag may also be a variable `UPLINK_FLAG`,
 * so the access grant stays off the command line. uplink refuses parts below 1 GiB, so a shorter part size is not passed
 * on. A file below 1 GiB is one part, whatever `--parallelism` says.
 */
const LEAST_PART_BYTES = 1024 * 1024 * 1024;

export const uplink: Driver = {
  name: "uplink",
  exits: {},
  holds: () => null,
  find: (where) =>
    findProgram(
      {
        names: ["uplink"],
        args: ["version"],
        read: reading(/v?(\d+\.\d+\.\S+)/),
        hint: "https://storj.dev/dcs/api/uplink-cli/installation",
      },
      where,
    ),
  command: (task, found) => {
    if (task.grant === null) {
      const detail = "it needs an access grant of Storj: --access-grant, TIDEMARK_ACCESS_GRANT";
      throw new Fault("BAD_CREDENTIALS", { op: "bench", subject: "uplink", detail });
    }
    const store = `sj://${task.access.bucket}/${task.key}`;
    const ends = task.direction === "up" ? [task.path, store] : [store, task.path];
    const parts = task.partBytes < LEAST_PART_BYTES ? [] : [`--parallelism-chunk-size=${task.partBytes}B`];
    return {
      program: found.program,
      args: ["cp", "--progress=false", `--parallelism=${task.connections}`, ...parts, ...ends],
      env: {
        ...plainEnvironment(found.where, task.scratch),
        UPLINK_ACCESS: task.grant,
        UPLINK_INTERACTIVE: "false",
        UPLINK_CONFIG_DIR: task.scratch,
      },
    };
  },
};
