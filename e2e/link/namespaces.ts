import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { CannotRun } from "./cannot-run.ts";

/**
 * Network namespaces of this process. Each carries its id in its name, so that two runs never meet, and what a killed run
 * left behind, its processes included, is found and removed by the next one.
 */

const NAMESPACES = "/run/netns";
const PREFIX = "tidemark-bench-";
const ALLOWED_FILE = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
const run = promisify(execFile);

/** A namespace: its name for `ip`, and its file for `nsenter`. */
export interface Namespace {
  name: string;
  file: string;
}

/** @throws CannotRun when it fails */
export async function ip(...args: string[]): Promise<string> {
  try {
    return (await run("ip", args)).stdout;
  } catch (error) {
    throw new CannotRun(`"ip ${args.join(" ")}" failed; it comes with Debian's iproute2.`, error);
  }
}

/** Makes one with a loopback that is up. @throws CannotRun */
export async function addNamespace(title: string): Promise<Namespace> {
  const name = `${PREFIX}${process.pid}-${title}`;
  await ip("netns", "add", name);
  await ip("-n", name, "link", "set", "lo", "up");
  return { name, file: `${NAMESPACES}/${name}` };
}

/** Kills whatever still runs inside, and removes it. @throws CannotRun */
export async function removeNamespace(name: string): Promise<void> {
  await killInside(name);
  await ip("netns", "del", name);
}

/** Kills every process in a namespace, as a power cut would. Of one that is gone there are none. */
export async function killInside(name: string): Promise<void> {
  const pids = (await ip("netns", "pids", name).catch(() => "")).split("\n").filter(Boolean).map(Number);
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has just ended.
    }
  }
}

/** Namespaces of runs that were killed before they could tidy up. */
export async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(NAMESPACES).catch(() => [])) {
    const owner = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) await removeNamespace(name);
  }
}

/** Whether a process with this id exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A machine as Linux delivers it, with this congestion control. @throws CannotRun */
export async function setUpTcp(name: string, congestion: string): Promise<void> {
  await allowCongestionControl(congestion);
  const settings = [
    "net.ipv6.conf.all.disable_ipv6=1",
    "net.ipv4.tcp_no_metrics_save=1",
    // The buffer limits are Linux's own defaults: a tuned host must not flatter anyone.
    "net.ipv4.tcp_rmem=4096 131072 6291456",
    "net.ipv4.tcp_wmem=4096 16384 4194304",
    `net.ipv4.tcp_congestion_control=${congestion}`,
  ];
  await ip("netns", "exec", name, "sysctl", "-qw", ...settings);
}

/** A namespace may choose only what the host allows; allowing one more changes nobody's default. */
async function allowCongestionControl(wanted: string): Promise<void> {
  const allowed = (await readFile(ALLOWED_FILE, "utf8")).trim();
  if (!allowed.split(" ").includes(wanted)) await writeFile(ALLOWED_FILE, `${allowed} ${wanted}`);
}
