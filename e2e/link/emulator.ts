import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { z } from "zod";
import { CannotRun } from "./cannot-run.ts";
import { compileC } from "./compile-c.ts";

/** The program of `wan.c`, which carries packets between two network namespaces as a link of given settings would. */

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

export interface Emulator extends AsyncDisposable {
  /** Sets the link, also while it is up. */
  change: (settings: LinkSettings) => Promise<void>;
  counts: () => Promise<{ up: LaneCounts; down: LaneCounts }>;
}

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

/** @throws CannotRun when it cannot be made */
export const compileEmulator = (): Promise<string> => compileC("wan", join(import.meta.dirname, "wan.c"));

/**
 * Joins two namespaces by a device of this name in each. "Up" is from the first to the second.
 * @throws CannotRun when the devices cannot be made
 */
export async function startEmulator(
  program: string,
  ends: { client: string; server: string; device: string },
  settings: LinkSettings,
): Promise<Emulator> {
  const emulator = spawnEmulator(program, [ends.client, ends.server, ends.device]);
  try {
    await emulator.ask(`set ${describe(settings)}`);
  } catch (error) {
    await emulator.close();
    throw error;
  }
  return {
    change: async (next) => void (await emulator.ask(`set ${describe(next)}`)),
    counts: () => emulator.ask("stats"),
    [Symbol.asyncDispose]: () => emulator.close(),
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

function spawnEmulator(program: string, args: readonly string[]) {
  // It ends when its standard input does, so it cannot outlive this process. Ctrl-C is ours to handle.
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], detached: true });
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => (complaint += chunk.toString()));
  const lines = createInterface({ input: child.stdout });
  const greeting = nextLine(child, lines);
  return {
    ask: async (command: string) => {
      await greeting.catch(() => {
        throw new CannotRun(`The link did not come up: ${complaint.trim()}`);
      });
      const answer = nextLine(child, lines);
      child.stdin.write(`${command}\n`);
      return emulatorAnswer.parse(JSON.parse(await answer));
    },
    close: async () => {
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
