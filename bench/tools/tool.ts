import type { BenchCase, Direction } from "../cases.ts";
import type { Command } from "../measure/measure.ts";

/** One transfer that a tool is to make. */
export interface ToolTask {
  direction: Direction;
  endpoint: string;
  region: string;
  accessKey: string;
  secretKey: string;
  bucket: string;
  caFile: string | null;
  setting: BenchCase["setting"];
  /** Source or target of the transfer: a file, or a folder of files. */
  path: string;
  /** The object's key; for a folder the prefix, without a slash at its end. */
  key: string;
  /** Names inside the folder; null for one file. */
  names: readonly string[] | null;
  bytes: number;
  /** An empty folder that exists as long as this transfer. */
  scratch: string;
  /** Address of the raw TCP server. */
  rawAddress: { address: string; port: number };
}

/** Parts in flight that a tool is configured for; the product is its memory if it keeps whole parts. */
export interface InFlight {
  parts: number;
  partBytes: number;
  files: number;
}

export type Availability = { version: string } | { missing: string };

export interface Tool {
  name: string;
  title: string;
  /** `peer`: compared with Tidemark. `ceiling`: an upper limit for all store clients. */
  role: "own" | "peer" | "ceiling";
  /** Its configuration, for the reader. */
  setup: string;
  find: () => Promise<Availability>;
  /** Returns the command of a transfer; null when the tool cannot do it. */
  command: (task: ToolTask) => Command | null | Promise<Command | null>;
  /** Null when by its documentation the tool holds no whole parts, or says nothing about it. */
  inFlight: (task: Pick<ToolTask, "direction" | "names">) => InFlight | null;
}

/** Returns the environment of every tool: the keys, where AWS tools look for them, and nothing personal. */
export function baseEnvironment(task: ToolTask): Record<string, string> {
  const { caFile } = task;
  return {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HOME: task.scratch,
    LANG: "C.UTF-8",
    NO_COLOR: "1",
    AWS_ACCESS_KEY_ID: task.accessKey,
    AWS_SECRET_ACCESS_KEY: task.secretKey,
    AWS_REGION: task.region,
    AWS_DEFAULT_REGION: task.region,
    AWS_EC2_METADATA_DISABLED: "true",
    ...(caFile === null ? {} : { AWS_CA_BUNDLE: caFile, NODE_EXTRA_CA_CERTS: caFile, SSL_CERT_FILE: caFile }),
  };
}

export const s3Address = (task: Pick<ToolTask, "bucket" | "key">): string => `s3://${task.bucket}/${task.key}`;
