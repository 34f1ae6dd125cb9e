import { z } from "zod";
import type { StoreAddress } from "./provision.ts";
import { type RunningProcess, startProcess } from "./start-process.ts";

export interface StoreOptions {
  dataDir: string;
  port?: number;
  bucket?: string;
  accessKey?: string;
  secretKey?: string;
  /** Enables the control API for scripted faults and counters. */
  control?: string;
  corsOrigin?: string;
  flags?: string[];
  /** As in `StartOptions`. */
  under?: readonly string[];
}

export interface RunningStore extends RunningProcess, StoreAddress {
  control: string | null;
  port: number;
}

const readyLine = z.object({ ready: z.literal(true), port: z.number(), endpoint: z.string() });

/** Starts the embedded store as a process. */
export async function startStore(options: StoreOptions): Promise<RunningStore> {
  const { bucket = "training", accessKey = "stage-key", secretKey = "stage-secret-0123456789", control } = options;
  const args = ["--data", options.dataDir, "--port", String(options.port ?? 0), "--bucket", bucket];
  if (control !== undefined) args.push("--control", control);
  if (options.corsOrigin !== undefined) args.push("--cors-origin", options.corsOrigin);
  const running = await startProcess({
    title: "store",
    entry: "store/main.ts",
    args: [...args, ...(options.flags ?? [])],
    ...(options.under === undefined ? {} : { under: options.under }),
    env: { TIDEMARK_STORE_ACCESS_KEY: accessKey, TIDEMARK_STORE_SECRET_KEY: secretKey },
    readReady: (line) => (line.startsWith("{") ? line : null),
  });
  const { port, endpoint } = readyLine.parse(JSON.parse(running.ready));
  return { ...running, endpoint, port, bucket, accessKey, secretKey, control: control ?? null };
}
