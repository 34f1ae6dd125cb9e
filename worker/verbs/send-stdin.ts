import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import type { S3Client } from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { Fault, isFault } from "#protocol/fault.ts";
import type { StoreTraits } from "#protocol/operations.ts";
import { formatBytes, formatDuration, formatRate } from "#protocol/units.ts";
import { createControlClient } from "#storage/client.ts";
import { faultOfSdk } from "#storage/faults.ts";
import { NONCE_METADATA } from "#storage/signing.ts";
import { diskFault } from "../engine/disk-fault.ts";
import { createPatience, withRetry, type Patience } from "../engine/retry.ts";
import { withBench, type Bench } from "./bench.ts";
import { abandon } from "./copy-within.ts";
import { headObject } from "./head.ts";
import { shownPlace, usage, type StorePlace, type Verb } from "./verb.ts";

/**
 * `cp - s3://bucket/key`: an input of unknown length, which can be read once only. So, unlike a file's, its parts have to
 * be held in memory until the store has them, and nothing can be gone on with after a kill: parts at a time x length of a
 * part is what it takes, and that is bounded by --memory and said at the start. Ended by a signal or by a broken input,
 * the upload is aborted at the store and no object appears. A complete one is asked for its size.
 */

const MIB = 1024 * 1024;
/** One part is filling up and is copied together while the others are on their way. */
const SPARE_PARTS = 2;
const LARGEST_PART_BYTES = 16 * MIB;

export interface InputPlan {
  partBytes: number;
  partsAtATime: number;
  /** The longest input that fits. */
  mostBytes: number;
  memoryBytes: number;
}

/**
 * Parts for an input of unknown length within a memory budget.
 * @throws Fault BAD_INPUT when the budget holds not even one part at a time.
 */
export function planInput(about: {
  traits: StoreTraits;
  memoryBytes: number;
  connections: number;
  wishedPartBytes: number | null;
}): InputPlan {
  const { traits, memoryBytes, connections, wishedPartBytes } = about;
  const share = Math.floor(memoryBytes / (connections + SPARE_PARTS) / MIB) * MIB;
  // The SDK refuses parts below 5 MiB whatever the store.
  const least = Math.max(traits.minPartBytes, 5 * MIB);
  const wished = wishedPartBytes ?? Math.min(Math.max(share, least), Math.max(LARGEST_PART_BYTES, least));
  const partBytes = Math.min(Math.max(wished, least), traits.maxPartBytes);
  const partsAtATime = Math.min(connections, Math.floor(memoryBytes / partBytes) - SPARE_PARTS);
  if (partsAtATime < 1) {
    const needed = formatBytes(partBytes * (SPARE_PARTS + 1));
    throw usage(
      `--memory ${formatBytes(memoryBytes)}`,
      `parts of ${formatBytes(partBytes)} from stdin need at least ${needed}`,
    );
  }
  return {
    partBytes,
    partsAtATime,
    mostBytes: partBytes * Math.min(traits.maxParts, 9_999),
    memoryBytes: partBytes * (partsAtATime + SPARE_PARTS),
  };
}

/** Faults: BAD_INPUT, TOO_LARGE, READ_FAILED, SIZE_MISMATCH, those of the store, CANCELLED. */
export function sendStdin(verb: Verb, to: StorePlace): Promise<number> {
  const { config, terminal } = verb;
  if (to.key === "" || to.key.endsWith("/")) throw usage(shownPlace(to), "stdin has no name: give the whole key");
  const input = verb.input();
  if ("isTTY" in input && input.isTTY === true) throw usage("-", "stdin is a terminal; pipe something into it");
  return withBench(verb, { bucket: to.bucket, direction: "up" }, async (bench) => {
    const plan = planInput({
      traits: bench.access.traits,
      memoryBytes: config.size("memory") ?? 0,
      connections: bench.engine.gate.width,
      wishedPartBytes: config.size("part-size"),
    });
    const place = shownPlace(to);
    const parts = `${plan.partsAtATime} ${plan.partsAtATime === 1 ? "part" : "parts"} of ${formatBytes(plan.partBytes)}`;
    terminal.say(
      `stdin -> ${place}: up to ${parts} at a time, so at most ${formatBytes(plan.memoryBytes)} of memory, for an input of at most ${formatBytes(plan.mostBytes)}`,
      { type: "started", from: "-", to: place, ...plan },
    );
    const startedAt = performance.now();
    const bytes = await send(verb, { bench, to, plan, input });
    const tookMs = performance.now() - startedAt;
    const rate = formatRate(bytes / Math.max(0.001, tookMs / 1000), "bytes");
    terminal.result(`stdin -> ${place}: ${formatBytes(bytes)} in ${formatDuration(tookMs)}, ${rate}, verified`, {
      type: "done",
      from: "-",
      to: place,
      bytes,
      sentBytes: bytes,
      files: 1,
      filesFailed: 0,
      tookMs: Math.round(tookMs),
    });
    return 0;
  });
}

interface Sending {
  bench: Bench;
  to: StorePlace;
  plan: InputPlan;
  input: Readable;
}

/** Returns how many bytes the object has. */
async function send(verb: Verb, sending: Sending): Promise<number> {
  const { bench, to, plan } = sending;
  const { signal } = verb;
  const nonce = randomBytes(16).toString("hex");
  const client = createControlClient(bench);
  // How long a part may take is the business of the silence on its connection, not of a clock.
  const handler: object = client.config.requestHandler;
  if ("updateHttpClientConfig" in handler && typeof handler.updateHttpClientConfig === "function") {
    handler.updateHttpClientConfig("requestTimeout", 0);
  }
  const patience = createPatience(bench.engine.retrier.clock);
  retryEachCall(client, { bench, key: to.key, signal, patience });
  const counted = { bytes: 0, fault: null as Fault | null };
  const upload = new Upload({
    client,
    params: {
      Bucket: to.bucket,
      Key: to.key,
      Body: Readable.from(countedInput(verb, { ...sending, patience, counted }), { objectMode: false }),
      Metadata: { [NONCE_METADATA]: nonce },
    },
    partSize: plan.partBytes,
    queueSize: plan.partsAtATime,
  });
  const stop = () => void upload.abort();
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) throw new Fault("CANCELLED");
    await upload.done();
  } catch (error) {
    sending.input.destroy();
    client.destroy();
    const fault = signal.aborted ? new Fault("CANCELLED") : (counted.fault ?? faultOfSdk(error, { subject: to.key }));
    if (!(await isComplete(verb, { ...sending, nonce, bytes: counted.bytes, fault }))) {
      if (upload.uploadId !== undefined) await abandon(bench, { key: to.key, uploadId: upload.uploadId });
      throw fault;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    client.destroy();
  }
  const head = await headObject(bench, { key: to.key, signal });
  if (head.sizeBytes !== counted.bytes || (head.nonce !== null && head.nonce !== nonce)) {
    const detail = `${counted.bytes} bytes were read, the object has ${head.sizeBytes}`;
    throw new Fault("SIZE_MISMATCH", { op: "cp", subject: to.key, detail });
  }
  return counted.bytes;
}

/** Whether an upload that the store no longer knows is over because it is complete: the first answer was lost. */
async function isComplete(
  verb: Verb,
  about: Sending & { nonce: string; bytes: number; fault: Fault },
): Promise<boolean> {
  const { bench, to, fault, nonce, bytes } = about;
  if (fault.code !== "NO_SUCH_UPLOAD") return false;
  const head = await headObject(bench, { key: to.key, signal: verb.signal }).catch(() => null);
  return head !== null && head.nonce === nonce && head.sizeBytes === bytes;
}

/** The SDK tries once; whether and when again is decided as everywhere else, and each try is signed anew. */
function retryEachCall(
  client: S3Client,
  about: { bench: Bench; key: string; signal: AbortSignal; patience: Patience },
): void {
  const { bench, key, signal, patience } = about;
  client.middlewareStack.add(
    (next, context) => (args) =>
      withRetry(bench.engine.retrier, { signal, patience }, async () => {
        try {
          const result = await next(args);
          patience.progressed();
          return result;
        } catch (error) {
          throw faultOfSdk(error, { op: (context.commandName ?? "S3").replace(/Command$/, ""), subject: key });
        }
      }),
    { step: "initialize", name: "tidemarkRetry", priority: "high" },
  );
}

async function* countedInput(
  verb: Verb,
  about: Sending & { patience: Patience; counted: { bytes: number; fault: Fault | null } },
): AsyncGenerator<Buffer> {
  const { bench, to, plan, input, counted, patience } = about;
  const { terminal, signal } = verb;
  const place = shownPlace(to);
  const lane = bench.engine.limiter.lane();
  const keep = (fault: Fault): Fault => {
    counted.fault ??= fault;
    return fault;
  };
  try {
    for await (const chunk of input) {
      const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
      counted.bytes += bytes.length;
      if (counted.bytes > plan.mostBytes) {
        const detail = `more than ${formatBytes(plan.mostBytes)} came in; give a larger --part-size (and --memory)`;
        throw new Fault("TOO_LARGE", { op: "cp", subject: "stdin", detail });
      }
      await lane.take(bytes.length, signal);
      bench.engine.meter.add(bytes.length);
      patience.progressed();
      const bytesPerSecond = bench.engine.meter.bytesPerSecond();
      terminal.draw(
        [`stdin -> ${place}, ${formatBytes(counted.bytes)}, ${formatRate(bytesPerSecond, "bytes")}`],
        () => ({
          type: "progress",
          from: "-",
          to: place,
          bytesDone: counted.bytes,
          bytesPerSecond: Math.round(bytesPerSecond),
        }),
      );
      yield bytes;
    }
  } catch (error) {
    throw keep(isFault(error) ? error : diskFault(error, { op: "read", subject: "stdin", otherwise: "READ_FAILED" }));
  }
}
