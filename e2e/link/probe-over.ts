import { spawn } from "node:child_process";
import { join } from "node:path";
import * as z from "zod";
import { storeKeys } from "../faults/rig.ts";
import { commandOf, ROOT } from "../stage/start-process.ts";
import type { LinkSettings } from "./emulator.ts";
import { openStoreAcross } from "./open-store-across.ts";

const MBIT = 125_000;
const rate = z.object({ bytesPerSecond: z.number(), rampMs: z.number(), isSteady: z.boolean() });
const said = z.object({ type: z.literal("probe"), outcome: z.string(), rttMs: z.number(), up: rate, down: rate });

/** What `tidemark probe` said of a link whose truth is known. */
export interface Probed {
  tookMs: number;
  rttMs: number;
  /** Share of the link's rate that was reported. */
  up: number;
  down: number;
}

/**
 * Runs `tidemark probe` over an emulated link.
 * @param program `worker/main.ts` or a bundle of it
 * @throws CannotRun; Error with its words when it ended otherwise than it should
 */
export async function probeOver(
  settings: LinkSettings,
  program: string,
  flags: readonly string[] = [],
): Promise<Probed> {
  await using across = await openStoreAcross(settings);
  const { link, store, folder } = across;
  const where = ["--endpoint", store.endpoint, "--provider", "minio", "--state", join(folder, "state")];
  const startedAt = performance.now();
  const { code, text } = await runIn(link.clientNetns, {
    args: [...commandOf(program), "probe", `s3://${store.bucket}`, "--json", ...where, ...flags],
    env: storeKeys(store),
  });
  const tookMs = performance.now() - startedAt;
  const line = text.trim().split("\n").at(-1) ?? "";
  const found = said.safeParse(line.startsWith("{") ? JSON.parse(line) : null);
  if (code !== 0 || !found.success) throw new Error(`the probe ended with ${code}: ${text}`);
  const { rttMs, up, down } = found.data;
  return {
    tookMs,
    rttMs,
    up: up.bytesPerSecond / (settings.upMbit * MBIT),
    down: down.bytesPerSecond / (settings.downMbit * MBIT),
  };
}

function runIn(
  netns: string,
  about: { args: readonly string[]; env: Record<string, string> },
): Promise<{ code: number | null; text: string }> {
  return new Promise((resolve, reject) => {
    const env = { PATH: process.env.PATH ?? "", NO_COLOR: "1", NODE_ENV: "production", ...about.env } as const;
    const [program, ...args] = ["nsenter", `--net=${netns}`, ...about.args] as const;
    const child = spawn(program, args, {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env,
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, text }));
  });
}
