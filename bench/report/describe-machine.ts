import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { cpus, loadavg, release, totalmem } from "node:os";
import { promisify } from "node:util";
import { SERVER_PINS } from "#e2e/servers/pins.ts";
import type { BenchCase } from "../cases.ts";
import { ROOT } from "#e2e/stage/start-process.ts";
import type { Result } from "./results.ts";

const run = promisify(execFile);
const GIB = 1 << 30;

/** Describes how numbers were measured: machine, date, and commit of the sources. `store` is the project's own store. */
export async function describeMachine(
  about: Pick<BenchCase, "link"> & { server: BenchCase["server"] | "store"; congestion: string },
): Promise<Pick<Result, "machine" | "date" | "commit">> {
  const processors = cpus();
  return {
    date: new Date().toISOString(),
    commit: await commitOf(),
    machine: {
      cpu: processors[0]?.model ?? "unknown",
      cores: processors.length,
      memoryGib: Math.round(totalmem() / GIB),
      kernel: release(),
      loadBefore: Number((loadavg()[0] ?? 0).toFixed(1)),
      node: process.versions.node,
      server: about.server === "store" ? "store/main.ts" : `${about.server} ${SERVER_PINS[about.server].split("@")[1]}`,
      congestion: about.link === null ? await hostCongestion() : about.congestion,
    },
  };
}

async function commitOf(): Promise<string> {
  const git = (...args: string[]): Promise<string> =>
    run("git", args, { cwd: ROOT }).then(
      ({ stdout }) => stdout.trim(),
      () => "",
    );
  const commit = await git("rev-parse", "--short", "HEAD");
  return commit === "" ? "unknown" : commit;
}

const hostCongestion = (): Promise<string> =>
  readFile("/proc/sys/net/ipv4/tcp_congestion_control", "utf8").then(
    (text) => text.trim(),
    () => "",
  );
