/** Engines that a benchmark compares, in the order of the tables. */
export const ENGINES = {
  tidemark: {
    title: "Tidemark",
    needsKeys: false,
    program: null,
    directions: ["up", "down"],
    how: "told the same part size and connections",
  },
  "tidemark-auto": {
    title: "Tidemark, by itself",
    needsKeys: false,
    program: null,
    directions: ["up", "down"],
    how: "as it comes: it finds part size and connections",
  },
  sdk: {
    title: "AWS SDK (JavaScript)",
    needsKeys: true,
    program: null,
    directions: ["up", "down"],
    how: "`lib-storage` up, ranged GETs down",
  },
  rclone: {
    title: "rclone",
    needsKeys: true,
    program: "rclone",
    directions: ["up", "down"],
    how: "as the SaladCloud guide ran it: `--s3-chunk-size --transfers`, which counts files",
  },
  "rclone-tuned": {
    title: "rclone, tuned",
    needsKeys: true,
    program: "rclone",
    directions: ["up", "down"],
    how: "`--s3-upload-concurrency --multi-thread-streams`",
  },
  boto3: {
    title: "boto3",
    needsKeys: true,
    program: "Python with boto3",
    directions: ["up", "down"],
    how: "`TransferConfig`, its own threads",
  },
  crt: {
    title: "AWS CRT (Python)",
    needsKeys: true,
    program: "Python with boto3 and awscrt",
    directions: ["up", "down"],
    how: "`s3transfer.crt`; it decides on its connections",
  },
  "aws-cli": {
    title: "aws CLI",
    needsKeys: true,
    program: "the aws CLI",
    directions: ["up", "down"],
    how: "`max_concurrent_requests`, `multipart_chunksize`",
  },
  s5cmd: {
    title: "s5cmd",
    needsKeys: true,
    program: "s5cmd",
    directions: ["up", "down"],
    how: "`cp -c -p`; its parts are whole MiB",
  },
  aria2: {
    title: "aria2c",
    needsKeys: false,
    program: "aria2c",
    directions: ["down"],
    how: "one presigned URL, at most 16 connections",
  },
  uplink: {
    title: "Storj uplink",
    needsKeys: true,
    program: "uplink",
    directions: ["up", "down"],
    how: "native, with an access grant; parts of at least 1 GiB",
  },
} as const satisfies Record<string, EngineSpec>;

export interface EngineSpec {
  title: string;
  /** Whether the engine needs a key of the bucket; the others get presigned requests. */
  needsKeys: boolean;
  /** Third-party program that a node must have; null: the engine comes with the worker. */
  program: string | null;
  directions: readonly BenchDirection[];
  /** Settings of the engine as shown to readers; code in backquotes. */
  how: string;
}

export type BenchDirection = "up" | "down";
export type EngineName = keyof typeof ENGINES;
export const isEngine = (text: string): text is EngineName => Object.hasOwn(ENGINES, text);
export const ENGINE_NAMES: readonly EngineName[] = Object.keys(ENGINES).filter(isEngine);
export const engineSpec = (name: EngineName): EngineSpec => ENGINES[name];
