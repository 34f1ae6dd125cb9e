import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { runBinary, type BinaryOptions, type RunningBinary } from "#e2e/servers/run-binary.ts";
import { BenchError } from "../bench-error.ts";
import type { Certificate } from "./make-certificate.ts";

/** The S3 servers that a case can use, each over a folder in memory. */
export const SERVER_NAMES = ["minio", "versitygw"] as const;
export type ServerName = (typeof SERVER_NAMES)[number];

/** The store of a case. */
export interface BenchServer {
  name: ServerName;
  endpoint: string;
  region: string;
  accessKey: string;
  secretKey: string;
  bucket: string;
  caFile: string | null;
  /** Empties the bucket, unfinished uploads included. */
  empty: () => Promise<void>;
  stop: () => Promise<void>;
}

const BUCKET = "bench";
const READY_LIMIT_MS = 20_000;
const KEYS = { accessKey: "benchmark", secretKey: "benchmark-secret" };
const run = promisify(execFile);

export interface ServerOptions {
  name: ServerName;
  program: string;
  folder: string;
  netns: string | null;
  address: string;
  port: number;
  certificate: Certificate | null;
}

/** Address on which a program listens that `startListening` starts. */
export type Listening = Pick<ServerOptions, "netns" | "address" | "port">;

/** Starts a store. @throws BenchError with the program's last output when it does not come up */
export async function startServer(options: ServerOptions): Promise<BenchServer> {
  const { name, folder, address, port, certificate } = options;
  const data = join(folder, "data");
  const empty = async (): Promise<void> => {
    for (const inside of LEFT_BY_UPLOADS[name]) {
      await rm(join(data, inside), { recursive: true, force: true });
      await mkdir(join(data, inside), { recursive: true });
    }
  };
  await mkdir(data);
  if (name === "versitygw") await empty();
  const running = await startListening(options, { program: options.program, ...LAUNCHES[name](options, data) });
  if (name === "minio") await empty();
  return {
    name,
    endpoint: `${certificate === null ? "http" : "https"}://${address}:${port}`,
    region: "us-east-1",
    ...KEYS,
    bucket: BUCKET,
    caFile: certificate?.caFile ?? null,
    empty,
    stop: () => running.stop(),
  };
}

/** Folders with objects and unfinished uploads: both servers use a folder as a bucket. */
const LEFT_BY_UPLOADS: Record<ServerName, readonly string[]> = {
  versitygw: [BUCKET],
  minio: [BUCKET, ".minio.sys/multipart", ".minio.sys/tmp"],
};

type Launch = (options: ServerOptions, data: string) => Pick<BinaryOptions, "args" | "env">;

const LAUNCHES: Record<ServerName, Launch> = {
  versitygw: ({ address, port, certificate }, data) => {
    const tls = certificate === null ? [] : ["--cert", certificate.certFile, "--key", certificate.keyFile];
    return {
      // Without --keep-alive versitygw closes the connection after every answer, which no public store does.
      args: ["--port", `${address}:${port}`, "--quiet", "--keep-alive", ...tls, "posix", data],
      env: { ROOT_ACCESS_KEY: KEYS.accessKey, ROOT_SECRET_KEY: KEYS.secretKey },
    };
  },
  minio: ({ address, port, certificate }, data) => {
    return {
      args: [
        "server",
        data,
        "--address",
        `${address}:${port}`,
        "--console-address",
        `${address}:${port + 1000}`,
        "--quiet",
        ...(certificate === null ? [] : ["--certs-dir", certificate.folder]),
      ],
      env: {
        MINIO_ROOT_USER: KEYS.accessKey,
        MINIO_ROOT_PASSWORD: KEYS.secretKey,
        MINIO_BROWSER: "off",
        MINIO_UPDATE: "off",
        MINIO_CALLHOME_ENABLE: "off",
      },
    };
  },
};

/** Starts a program, inside a namespace if one is given, and waits until its port takes connections. */
export async function startListening(where: Listening, binary: BinaryOptions): Promise<RunningBinary> {
  const inside = where.netns === null ? [] : ["nsenter", `--net=${where.netns}`];
  // setpriv, of the same package as nsenter, stops the server when this process is killed.
  const [program = "", ...args] = [...inside, "setpriv", "--pdeathsig", "TERM", binary.program, ...binary.args];
  const running = runBinary({ program, args, env: binary.env });
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
