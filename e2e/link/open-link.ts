import { execFile, spawn, type ChildProcess } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { promisify } from "node:util";
import { z } from "zod";
import { CannotRun } from "./cannot-run.ts";
import { compileC } from "./compile-c.ts";

/**
 * A wide-area link on one machine: two network namespaces, joined by the emulator of `wan.c`. Real TCP runs through it,
 * with slow start, queues and loss recovery. Everything it makes carries this process's id in its name, so that two runs
 * never meet, and what a killed run left behind is found and removed by the next one.
 */

/** What the link is like. Rates count IP packets with their headers, as a provider's contract does. */
export interface LinkSettings {
  rttMs: number;
  upMbit: number;
  downMbit: number;
  /** Of each wire segment, in both directions. */
  lossPercent?: number;
  /** Of the router's queue; the bandwidth-delay product, at least 256 KiB, when left out. */
  queueKib?: number;
}

export interface LaneCounts {
  segments: number;
  bytes: number;
  /** By chance or blackout. */
  lost: number;
  /** Because the queue was full. */
  overflowed: number;
  refused: number;
}

export interface Link {
  clientNetns: string;
  serverNetns: string;
  serverAddress: string;
  /** Changes the link while it is up. */
  change: (settings: LinkSettings) => Promise<void>;
  counts: () => Promise<{ up: LaneCounts; down: LaneCounts }>;
  close: () => Promise<void>;
}

const DEVICE = "wan0";
const CLIENT_ADDRESS = "10.90.0.1";
const SERVER_ADDRESS = "10.90.0.2";
const NAMESPACES = "/run/netns";
const PREFIX = "tidemark-bench-";
const ALLOWED_FILE = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
const run = promisify(execFile);

const laneCounts = z.object({
  segments: z.number(),
  bytes: z.number(),
  lost: z.number(),
  overflowed: z.number(),
  refused: z.number(),
});
const emulatorAnswer = z.object({ up: laneCounts, down: laneCounts });

/** Why this machine cannot emulate a link, or null. */
export function whyNoLink(): string | null {
  if (process.platform !== "linux") return "an emulated link needs Linux (network namespaces and TUN devices)";
  if (process.getuid?.() !== 0) return "an emulated link needs root, for network namespaces: run it with sudo";
  try {
    accessSync("/dev/net/tun", constants.R_OK | constants.W_OK);
    return null;
  } catch {
    return "an emulated link needs /dev/net/tun (modprobe tun, or --device /dev/net/tun for a container)";
  }
}

/**
 * @param congestion TCP's congestion control on both sides
 * @throws CannotRun when the machine cannot do it
 */
export async function openLink(settings: LinkSettings, congestion: string): Promise<Link> {
  const why = whyNoLink();
  if (why !== null) throw new CannotRun(`This case cannot run: ${why}.`);
  const emulator = await compileC("wan", join(import.meta.dirname, "wan.c"));
  await removeLeftovers();
  await using undo = new AsyncDisposableStack();
  const names = { client: `${PREFIX}${process.pid}-client`, server: `${PREFIX}${process.pid}-server` };
  for (const name of Object.values(names)) {
    await ip("netns", "add", name);
    undo.defer(() => ip("netns", "del", name));
    await ip("-n", name, "link", "set", "lo", "up");
  }
  const netns = { client: `${NAMESPACES}/${names.client}`, server: `${NAMESPACES}/${names.server}` };
  const process_ = undo.use(startEmulator(emulator, [netns.client, netns.server, DEVICE]));
  await process_.ask(`set ${describe(settings)}`);
  await allowCongestionControl(congestion);
  await setUpSide(names.client, { address: CLIENT_ADDRESS, congestion });
  await setUpSide(names.server, { address: SERVER_ADDRESS, congestion });
  const kept = undo.move();
  return {
    clientNetns: netns.client,
    serverNetns: netns.server,
    serverAddress: SERVER_ADDRESS,
    change: async (next) => void (await process_.ask(`set ${describe(next)}`)),
    counts: () => process_.ask("stats"),
    close: () => kept.disposeAsync(),
  };
}

const describe = (settings: LinkSettings): string =>
  [
    `rtt_ms=${settings.rttMs}`,
    `up_mbit=${settings.upMbit}`,
    `down_mbit=${settings.downMbit}`,
    `loss_percent=${settings.lossPercent ?? 0}`,
    `queue_kib=${settings.queueKib ?? 0}`,
  ].join(" ");

async function ip(...args: string[]): Promise<void> {
  try {
    await run("ip", args);
  } catch (error) {
    throw new CannotRun(`"ip ${args.join(" ")}" failed; it comes with Debian's iproute2.`, error);
  }
}

async function setUpSide(name: string, side: { address: string; congestion: string }): Promise<void> {
  await ip("-n", name, "addr", "add", `${side.address}/30`, "dev", DEVICE);
  await ip("-n", name, "link", "set", DEVICE, "mtu", "1500", "txqueuelen", "10000", "up");
  const settings = [
    "net.ipv6.conf.all.disable_ipv6=1",
    "net.ipv4.tcp_no_metrics_save=1",
    // The buffer limits are Linux's own defaults: a tuned host must not flatter anyone.
    "net.ipv4.tcp_rmem=4096 131072 6291456",
    "net.ipv4.tcp_wmem=4096 16384 4194304",
    `net.ipv4.tcp_congestion_control=${side.congestion}`,
  ];
  await ip("netns", "exec", name, "sysctl", "-qw", ...settings);
}

/** A namespace may choose only what the host allows; allowing one more changes nobody's default. */
async function allowCongestionControl(wanted: string): Promise<void> {
  const allowed = (await readFile(ALLOWED_FILE, "utf8")).trim();
  if (!allowed.split(" ").includes(wanted)) await writeFile(ALLOWED_FILE, `${allowed} ${wanted}`);
}

interface Emulator extends AsyncDisposable {
  ask: (command: string) => Promise<{ up: LaneCounts; down: LaneCounts }>;
}

function startEmulator(program: string, args: readonly string[]): Emulator {
  // It ends when its standard input does, so it cannot outlive this process. Ctrl-C is ours to handle.
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], detached: true });
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => (complaint += chunk.toString()));
  const lines = createInterface({ input: child.stdout });
  const greeting = nextLine(child, lines);
  return {
    ask: async (command) => {
      await greeting.catch(() => {
        throw new CannotRun(`The link did not come up: ${complaint.trim()}`);
      });
      const answer = nextLine(child, lines);
      child.stdin.write(`${command}\n`);
      return emulatorAnswer.parse(JSON.parse(await answer));
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null) return;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      await ended;
    },
  };
}

function nextLine(child: ChildProcess, lines: Interface): Promise<string> {
  return new Promise((resolve, reject) => {
    lines.once("line", resolve);
    child.once("exit", () => reject(new CannotRun("The emulator of the link ended.")));
  });
}

/** Namespaces of runs that were killed before they could tidy up. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(NAMESPACES).catch(() => [])) {
    const owner = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) await ip("netns", "del", name);
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
