import { keyedEnvironment } from "./base-environment.ts";
import type { Driver, Sizes } from "./driver.ts";
import { findProgram, reading } from "./find-program.ts";

/** Runs s5cmd, whose part size is in whole MiB, at least 5. */

const MIB = 1024 * 1024;
const partMib = ({ partBytes }: Sizes): number => Math.max(5, Math.round(partBytes / MIB));

export const s5cmd: Driver = {
  name: "s5cmd",
  exits: {},
  holds: (errand) => partMib(errand) * MIB * errand.connections,
  find: (where) =>
    findProgram(
      { names: ["s5cmd"], args: ["version"], read: reading(/^v?(\d\S*)/), hint: "https://github.com/peak/s5cmd" },
      where,
    ),
  command: (errand, found) => {
    const store = `s3://${errand.access.bucket}/${errand.key}`;
    const ends = errand.direction === "up" ? [errand.path, store] : [store, errand.path];
    const sizes = ["-c", String(errand.connections), "-p", String(partMib(errand))];
    return {
      program: found.program,
      args: ["--log", "error", "--endpoint-url", errand.access.endpoint, "cp", ...sizes, ...ends],
      env: keyedEnvironment(errand, found),
    };
  },
};
