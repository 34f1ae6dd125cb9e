import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { runBinary, type BinaryOptions, type RunningBinary } from "#e2e/servers/run-binary.ts";
import { BenchError } from "../bench-error.ts";
import type { Certificate } from "./make-certificate.ts";

/** The store under test's other end: a Versity S3 Gateway over a folder in memory, where an object is a plain file. */
export interface BenchServer {
  endpoint: string;
  region: string;
  accessKey: string;
  secretKey: string;
  bucket: string;
  caFile: string | null;
  /** Where an object lies on the server's disk, to be read without any client. */
  fileOf: (key: string) => string;
  /** Makes the bucket empty, unfinished uploads included. */
  empty: () => Promise<void>;
  stop: () => Promise<void>;
}

const BUCKET = "bench";
const READY_LIMIT_MS = 20_000;
const run = promisify(execFile);

export interface ServerOptions {
  program: string;
  folder: string;
  netns: string | null;
  address: string;
  port: number;
  certificate: Certificate | null;
}

/** A program that listens on a port, as `startListening` starts it. */
export type Listening = Pick<ServerOptions, "netns" | "address" | "port">;

/** @throws BenchError with the program's last words when it does not come up */
export async function startServer(options: ServerOptions): Promise<BenchServer> {
  const { folder, address, port, certificate } = options;
  const data = join(folder, "data");
  const bucketFolder = join(data, BUCKET);
  await mkdir(bucketFolder, { recursive: true });
  const keys = { accessKey: "benchmark", secretKey: "benchmark-secret" };
  const tls = certificate === null ? [] : ["--cert", certificate.certFile, "--key", certificate.keyFile];
  const running = await startListening(options, {
    program: options.program,
    // Without --keep-alive it ends the connection after every answer, which no public store does.
    args: ["--port", `${address}:${port}`, "--quiet", "--keep-alive", ...tls, "posix", data],
    env: { ROOT_ACCESS_KEY: keys.accessKey, ROOT_SECRET_KEY: keys.secretKey },
  });
  return {
    endpoint: `${certificate === null ? "http" : "https"}://${address}:${port}`,
    region: "us-east-1",
    ...keys,
    bucket: BUCKET,
    caFile: certificate?.caFile ?? null,
    fileOf: (key) => join(bucketFolder, key),
    empty: async () => {
      await rm(bucketFolder, { recursive: true, force: true });
      await mkdir(bucketFolder);
    },
    stop: () => running.stop(),
  };
}

/** Starts a program, inside a namespace if one is given, and waits until its port takes connections. */
export async function startListening(where: Listening, binary: BinaryOptions): Promise<RunningBinary> {
  const running =
    where.netns === null
      ? runBinary(binary)
      : runBinary({ ...binary, program: "nsenter", args: [`--net=${where.netns}`, binary.program, ...binary.args] });
  const giveUpAtMs = performance.now() + READY_LIMIT_MS;
  while (!(await takesConnections(where))) {
    if (running.hasEnded() || performance.now() > giveUpAtMs) {
      await running.stop();
      throw new BenchError(`${binary.program} did not come up: ${running.tail().trim()}`);
    }
    await pause(20);
  }
  return running;
}

async function takesConnections({ netns, address, port }: Listening): Promise<boolean> {
  const probe = ["bash", "-c", `exec 3<>/dev/tcp/${address}/${port}`];
  const [program = "", ...args] = netns === null ? probe : ["nsenter", `--net=${netns}`, ...probe];
  return run(program, args).then(
    () => true,
    () => false,
  );
}
