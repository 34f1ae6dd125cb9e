import { Fault } from "#protocol/faults/fault.ts";
import { basename, dirname } from "node:path";
import { BY_STATUS } from "./by-status.ts";
import { plainEnvironment } from "./base-environment.ts";
import type { Driver } from "./driver.ts";
import { findProgram, reading } from "./find-program.ts";

/**
 * Runs aria2c, which only downloads, from a presigned URL. The URL grants access until it expires, so aria2c reads the URL
 * from stdin and not from its command line. aria2c opens at most 16 connections to one server.
 */
const MOST_CONNECTIONS = 16;
const LEAST_SPLIT_BYTES = 1024 * 1024;

export const aria2: Driver = {
  name: "aria2",
  // "EXIT STATUS" of https://aria2.github.io/manual/en/html/aria2c.html
  exits: {
    2: "STALLED",
    3: "NO_SUCH_KEY",
    4: "NO_SUCH_KEY",
    5: "STALLED",
    6: "LINK_DOWN",
    8: "RANGE_IGNORED",
    9: "NO_SPACE",
    19: "NAME_NOT_RESOLVED",
    24: "ACCESS_DENIED",
    29: "STORE_UNAVAILABLE",
    32: "CHECKSUM_MISMATCH",
  },
  // Exit code 22 is an unexpected HTTP answer; aria2c logs its status as `status=NNN`.
  explain: ({ code, log }) => (code === 22 ? (BY_STATUS[Number(/\bstatus=(\d{3})\b/.exec(log)?.[1])] ?? null) : null),
  holds: () => null,
  find: (where) =>
    findProgram(
      { names: ["aria2c"], args: ["--version"], read: reading(/^aria2 version (\S+)/), hint: "apt-get install aria2" },
      where,
    ),
  command: (task, found) => {
    if (task.direction === "up" || task.url === null) {
      throw new Fault("UNSUPPORTED", { op: "bench", subject: "aria2c", detail: "it only fetches, from a signed URL" });
    }
    const width = Math.min(MOST_CONNECTIONS, task.connections);
    // aria2c accepts --min-split-size from 1 MiB to 1024 MiB.
    const split = Math.max(LEAST_SPLIT_BYTES, Math.min(task.partBytes, 1024 * LEAST_SPLIT_BYTES));
    return {
      program: found.program,
      args: [
        "--no-conf",
        "--input-file=-",
        `--max-connection-per-server=${width}`,
        `--split=${width}`,
        `--min-split-size=${split}`,
        "--file-allocation=none",
        "--auto-file-renaming=false",
        "--summary-interval=0",
        "--console-log-level=error",
        "--download-result=hide",
      ],
      env: plainEnvironment(found.where, task.scratch),
      stdin: `${task.url}\n  dir=${dirname(task.path)}\n  out=${basename(task.path)}\n`,
    };
  },
};
