import { expect, test } from "vitest";
import { BENCH_FLAGS } from "./bench-flags.ts";
import { CAPTURE_FLAGS } from "./capture-flags.ts";
import type { FlagSpec } from "./flag-spec.ts";
import { COMMANDS, isCommand } from "./commands.ts";
import { FLAGS, flagsOf } from "./flags.ts";
import { JOB_FLAGS } from "./job-flags.ts";
import { KEY_FLAGS } from "./key-flags.ts";
import { LIMIT_FLAGS } from "./limit-flags.ts";
import { NETWORK_FLAGS } from "./network-flags.ts";
import { NOTIFY_FLAGS } from "./notify-flags.ts";
import { PROBE_FLAGS } from "./probe-flags.ts";
import { RESTORE_FLAGS } from "./restore-flags.ts";
import { RUN_FLAGS } from "./run-flags.ts";

const TABLES: Record<string, Record<string, FlagSpec>> = {
  BENCH_FLAGS,
  CAPTURE_FLAGS,
  JOB_FLAGS,
  KEY_FLAGS,
  LIMIT_FLAGS,
  NETWORK_FLAGS,
  NOTIFY_FLAGS,
  PROBE_FLAGS,
  RESTORE_FLAGS,
  RUN_FLAGS,
};

test.each(Object.entries(TABLES))("no other table takes the name of a flag of %s", (_, table) => {
  const all: Record<string, FlagSpec> = FLAGS;
  expect(Object.keys(table).filter((name) => all[name] !== table[name])).toEqual([]);
});

test("no command has two flags that are given in the same way", () => {
  const twice = Object.keys(COMMANDS)
    .filter(isCommand)
    .flatMap((name) => {
      const given = flagsOf(name).flatMap(([flag, { alias, short }]) => [`--${flag}`, `--${alias}`, `-${short}`]);
      const named = given.filter((way) => !way.endsWith("-undefined"));
      return named.filter((way, at) => named.indexOf(way) !== at).map((way) => `${name} ${way}`);
    });
  expect(twice).toEqual([]);
});
