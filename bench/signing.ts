import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { S3Client } from "@aws-sdk/client-s3";
import { ROOT } from "#e2e/stage/start-process.ts";
import { SIGN_BATCH, type Operation } from "#protocol/wire/operations.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { presignOperation, type StoreAccess } from "#storage/signing/signing.ts";
import { BenchError } from "./bench-error.ts";

/**
 * Measures what signing parts costs: the signing code alone, the signer process behind its pipe (the hub's cost of a node's
 * request), and the AWS SDK's own signer, without the middleware before its presigner. They take turns, so that a slow minute
 * of the machine affects all of them.
 */

const PARTS = 1000;
const LIFETIME_MS = 3_600_000;
/** Length of a tick in /proc/PID/stat on Linux. */
const TICK_SECONDS = 0.01;

const credential = { accessKeyId: "AKIAEXAMPLE", secretAccessKey: randomBytes(30).toString("base64") };
const access: StoreAccess = {
  endpoint: "https://s3.eu-central-1.amazonaws.com",
  region: "eu-central-1",
  bucket: "training",
  addressing: "virtual-host",
  traits: traitsOf("aws"),
};
const key = "team/runs/llama-8b/e000003/0198c1d2e3f4a5b6c7d8/optimizer/rank-00.safetensors";
const uploadId = "2~Zk3vbWkqkCYs6X4mB0nqk1yJvGm0yXw";
const operations: readonly Operation[] = Array.from({ length: PARTS }, (_, index) => ({
  op: "part",
  key,
  uploadId,
  partNumber: index + 1,
  sizeBytes: 16_777_216,
  crc32: "0badf00d",
}));

interface Cost {
  wallMs: number;
  cpuMs: number;
}

/** Measures wall time and CPU of this process, plus the CPU of other processes by `others`. */
async function costOf(work: () => unknown, others: () => number = () => 0): Promise<Cost> {
  const [startedAt, cpu, before] = [performance.now(), process.cpuUsage(), others()];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { wallMs: performance.now() - startedAt, cpuMs: (user + system) / 1000 + others() - before };
}

function signHere(): void {
  const nowMs = Date.now();
  for (const operation of operations)
    presignOperation({ access, credential, operation, nowMs, lifetimeMs: LIFETIME_MS });
}

interface Presigner {
  presign(request: object, options: object): Promise<unknown>;
}
const isPresigner = (signer: unknown): signer is Presigner =>
  typeof signer === "object" && signer !== null && "presign" in signer && typeof signer.presign === "function";

/** Returns a function that calls the signer behind the SDK's presigner on prepared requests. */
async function createSdkSigner(): Promise<() => Promise<void>> {
  const client = new S3Client({ region: access.region, credentials: credential });
  const signer: unknown = await client.config.signer();
  if (!isPresigner(signer)) throw new BenchError("The SDK's client has no presigner.");
  const hostname = `${access.bucket}.s3.${access.region}.amazonaws.com`;
  const headers = { host: hostname, "content-length": "16777216", "x-amz-checksum-crc32": "C63wDQ==" };
  return async () => {
    for (let part = 1; part <= PARTS; part++) {
      const query = { partNumber: String(part), uploadId, "x-id": "UploadPart" };
      await signer.presign(
        { method: "PUT", protocol: "https:", hostname, path: `/${key}`, query, headers },
        { expiresIn: LIFETIME_MS / 1000 },
      );
    }
  };
}

/** Returns the CPU milliseconds that a process has used so far. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_SECONDS * 1000;
}

/**
 * Starts the signer process as the hub's launcher does, with its secret as the first message, and asks it over its pipe in the
 * batches that workers send. @throws BenchError
 */
export async function startSigner() {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-signing-"));
  const child = spawn(process.execPath, [join(ROOT, "server/signer/main.ts")], {
    env: { ...process.env, TIDEMARK_DATA: folder },
    stdio: ["ignore", "inherit", "inherit", "pipe", "ipc"],
  });
  const pipe = child.stdio[3];
  if (!(pipe instanceof Socket) || child.pid === undefined) throw new BenchError("The signer did not start.");
  const { pid } = child;
  const stop = async (): Promise<void> => {
    if (child.connected) child.disconnect();
    pipe.destroy();
    await rm(folder, { recursive: true, force: true });
  };
  // A signer that ended at once is reported by the first request, so this error is ignored.
  child.send({ secrets: { TIDEMARK_SECRET: randomBytes(32).toString("base64") } }, () => undefined);
  const replies = createInterface({ input: pipe })[Symbol.asyncIterator]();
  let id = 0;
  const ask = async (call: string, input: object): Promise<{ sealed?: string; requests?: unknown[] }> => {
    pipe.write(`${JSON.stringify({ id: ++id, call, input })}\n`);
    const line = await replies.next();
    if (line.done === true) throw new BenchError(`The signer ended before it answered ${call}.`);
    const { ok } = JSON.parse(line.value) as { ok?: { sealed?: string; requests?: unknown[] } };
    if (ok === undefined) throw new BenchError(`The signer refused to ${call}.`);
    return ok;
  };
  const place = "ProfileSecret|bench|sealed";
  const sealKey = async (): Promise<string | undefined> => {
    await ask("open", { canary: null });
    return (await ask("seal", { place, credential })).sealed;
  };
  const sealed = await sealKey().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    cpuMs: () => cpuOf(pid),
    sign: async () => {
      let signed = 0;
      for (let at = 0; at < PARTS; at += SIGN_BATCH) {
        const batch = operations.slice(at, at + SIGN_BATCH);
        const answer = await ask("sign", { place, sealed, access, operations: batch, lifetimeMs: LIFETIME_MS });
        signed += answer.requests?.length ?? 0;
      }
      if (signed !== PARTS) throw new BenchError(`The signer signed ${signed} of ${PARTS}.`);
    },
    stop,
  };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** Prints the medians of `repeat` rounds of a thousand parts each. @throws BenchError */
export async function benchSigning(repeat: number): Promise<void> {
  const signer = await startSigner();
  const sdk = await createSdkSigner();
  const costs = { code: [] as Cost[], signer: [] as Cost[], sdk: [] as Cost[] };
  try {
    // Round 0 is a warm-up for the JIT compiler and does not count.
    for (let round = 0; round <= repeat; round++) {
      const turn = {
        code: await costOf(signHere),
        signer: await costOf(signer.sign, signer.cpuMs),
        sdk: await costOf(sdk),
      };
      if (round === 0) continue;
      for (const name of ["code", "signer", "sdk"] as const) costs[name].push(turn[name]);
    }
  } finally {
    await signer.stop();
  }
  const base = median(costs.sdk.map(({ cpuMs }) => cpuMs));
  console.log(`\n${PARTS} signatures of parts, median of ${repeat} rounds\n`);
  const titles = { code: "our signing code", signer: "through the signer process", sdk: "the AWS SDK's signer" };
  for (const name of ["code", "signer", "sdk"] as const) {
    const cpu = median(costs[name].map(({ cpuMs }) => cpuMs));
    const wall = median(costs[name].map(({ wallMs }) => wallMs));
    const ratio = `${(cpu / base).toFixed(2)} of the SDK's`;
    console.log(
      `  ${titles[name].padEnd(30)} ${cpu.toFixed(0).padStart(5)} ms CPU  ${wall.toFixed(0).padStart(5)} ms  ${ratio}`,
    );
  }
}
