import { spawn } from "node:child_process";
import { createServer, type AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { CreateBucketCommand, ListBucketsCommand, S3Client } from "@aws-sdk/client-s3";

/** An S3 server that runs as a process of its own on a loopback port, with one empty bucket. */
export type S3Server = {
  readonly name: string;
  readonly endpoint: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly bucket: string;
  /** Ends the process and removes its folder. */
  readonly stop: () => Promise<void>;
};

/** How to get at a server, before it has a name. */
export type ServerAccess = Pick<S3Server, "endpoint" | "region" | "accessKey" | "secretKey">;

/** The stock SDK client for a server, without retries so that a test sees every answer. */
export function plainClient(server: ServerAccess & { readonly sessionToken?: string }): S3Client {
  const { accessKey: accessKeyId, secretKey: secretAccessKey, sessionToken } = server;

  return new S3Client({
    endpoint: server.endpoint,
    region: server.region,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
    forcePathStyle: true,
    maxAttempts: 1,
  });
}

/** A loopback port that is free now. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => {
    probe.listen(0, "127.0.0.1", resolve);
  });
  const { port } = probe.address() as AddressInfo;
  await new Promise<void>((resolve) => {
    probe.close(() => resolve());
  });
  return port;
}

/** What to run. */
export type BinaryOptions = {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

/** A started program; `tail` is the end of what it wrote. */
export type RunningBinary = {
  readonly tail: () => string;
  readonly hasEnded: () => boolean;
  readonly stop: () => Promise<void>;
};

const TAIL_CHARACTERS = 4000;
const KILL_AFTER_MS = 5000;

/** Starts a program that runs until it is stopped. */
export function runBinary(options: BinaryOptions): RunningBinary {
  const child = spawn(options.program, [...options.args], {
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let tail = "";
  const collect = (chunk: Buffer): void => {
    tail = (tail + chunk.toString()).slice(-TAIL_CHARACTERS);
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  child.once("error", (error) => collect(Buffer.from(error.message)));
  const ended = new Promise<void>((resolve) => {
    child.once("close", () => resolve());
  });
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  return {
    tail: () => tail,
    hasEnded,
    async stop() {
      if (hasEnded()) return;
      const timer = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS);
      child.kill("SIGTERM");
      await ended;
      clearTimeout(timer);
    },
  };
}

const READY_LIMIT_MS = 60_000;

/** Waits until the server lists its buckets for this key, then makes the bucket. */
export async function prepareBucket(given: {
  readonly name: string;
  readonly access: ServerAccess;
  readonly bucket: string;
  readonly running: RunningBinary;
}): Promise<void> {
  const client = plainClient(given.access);
  const giveUpAtMs = Date.now() + READY_LIMIT_MS;
  try {
    for (;;) {
      try {
        await client.send(new ListBucketsCommand({}));
        break;
      } catch (error) {
        if (given.running.hasEnded() || Date.now() > giveUpAtMs) {
          throw new Error(`${given.name} did not start: ${given.running.tail()}`, { cause: error });
        }
        await pause(100);
      }
    }
    await client.send(new CreateBucketCommand({ Bucket: given.bucket }));
  } finally {
    client.destroy();
  }
}
