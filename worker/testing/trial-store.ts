import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { PRESETS } from "#storage/providers/providers.ts";
import { createDirectSource } from "#storage/signing/direct-source.ts";
import type { StoreAccess } from "#storage/signing/signing.ts";
import { CONTROL, TEST_CREDENTIAL, spawnStore } from "#storage/testing/spawn-store.ts";
import { systemClock } from "../base/clock.ts";
import { createEngine, type Engine } from "../transfer/engine.ts";
import { createRetrier } from "../transfer/store-session/retry.ts";

/** For tests: the embedded store as a process of its own, with scripted faults and counters. */
export interface TrialStore {
  access: StoreAccess;
  folder: string;
  credential: { accessKeyId: string; secretAccessKey: string };
  /** Arms a fault; see store/fault-rules.ts. */
  arm(rule: { op: string; action: Record<string, unknown> } & Record<string, unknown>): Promise<void>;
  disarm(): Promise<void>;
  /** Sets the store's clock this far ahead of this machine's. */
  setAhead(ms: number): Promise<void>;
  /** Returns how often an operation was requested and succeeded, by key and part. */
  count(op: string): Promise<{ key: string; partNumber?: number | undefined; requests: number; succeeded: number }[]>;
  engine(options?: {
    signerNow?: () => number;
    idleMs?: number;
    patienceMs?: number;
    limit?: number;
    connections?: number;
  }): Engine;
  close(): Promise<void>;
}

/** Name of a fault, and what it does to an answer. */
export type Trouble = [name: string, action: Record<string, unknown>];

/** Faults after which a download must still be correct. */
export const TROUBLES_OF_ANSWERS: Trouble[] = [
  ["an answer cut short", { kind: "truncate", afterBytes: 1_000_000, framing: "length" }],
  ["an answer cut short that looks complete", { kind: "truncate", afterBytes: 1_000_000, framing: "close" }],
  ["a byte that flipped on the way", { kind: "flip", side: "response", offset: 2_000_000 }],
  ["a reset in the middle", { kind: "reset", at: "response", afterBytes: 500_000 }],
  ["a body that stops", { kind: "stall", side: "response", afterBytes: 500_000 }],
  ["a web page in its place", { kind: "html", work: "skipped" }],
  ["a throttling store", { kind: "error", status: 503, code: "SlowDown" }],
  ["another range than the one asked for", { kind: "wrong-content-range", shiftBytes: 1 }],
];

/** Faults of an upload of 23 MiB in parts of 5 MiB, after which the object must still be correct. */
export const TROUBLES_OF_UPLOADS: [name: string, rule: Parameters<TrialStore["arm"]>[0]][] = [
  [
    "a reset in the middle of a part",
    { op: "UploadPart", times: 2, action: { kind: "reset", at: "request", afterBytes: 700_000 } },
  ],
  ["a part whose answer is lost", { op: "UploadPart", times: 2, action: { kind: "drop-response" } }],
  [
    "a part damaged on its way",
    { op: "UploadPart", partNumber: 3, times: 1, action: { kind: "flip", side: "request", offset: 100_000 } },
  ],
  ["a part answered with a web page", { op: "UploadPart", times: 2, action: { kind: "html" } }],
  ["a part answered without an ETag", { op: "UploadPart", times: 2, action: { kind: "no-etag" } }],
  ["a throttled part", { op: "UploadPart", times: 3, action: { kind: "error", status: 503, code: "SlowDown" } }],
  [
    "a part that stops being read",
    { op: "UploadPart", partNumber: 2, times: 1, action: { kind: "stall", side: "request", afterBytes: 300_000 } },
  ],
  [
    "a Create that fails once",
    { op: "CreateMultipartUpload", times: 1, action: { kind: "error", status: 500, code: "InternalError" } },
  ],
  ["a Complete whose answer is lost", { op: "CompleteMultipartUpload", times: 1, action: { kind: "drop-response" } }],
  [
    "a Complete with an error inside a 200",
    { op: "CompleteMultipartUpload", times: 1, action: { kind: "error-in-200", ending: "newline", work: "skipped" } },
  ],
  [
    "a Complete answered with a web page",
    { op: "CompleteMultipartUpload", times: 1, action: { kind: "html", work: "skipped" } },
  ],
  [
    "a Complete answered with nothing after it was done",
    { op: "CompleteMultipartUpload", times: 1, action: { kind: "empty", work: "done" } },
  ],
];

const counters = z.object({
  targets: z.array(
    z.object({
      key: z.string(),
      partNumber: z.number().optional(),
      requests: z.number(),
      succeeded: z.number(),
    }),
  ),
});
const credential = TEST_CREDENTIAL;

/** Starts a store. `quirks`: values of its `--quirks`. */
export async function openTrialStore(quirks: readonly string[] = []): Promise<TrialStore> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-trial-"));
  const spawned = await spawnStore(join(folder, "store"), [
    "--bucket",
    "trial",
    "--control",
    CONTROL,
    ...quirks.flatMap((quirk) => ["--quirks", quirk]),
  ]);
  const { endpoint, control } = spawned;
  const traits = { ...PRESETS.minio.traits, minPartBytes: 5 * 1024 * 1024, conditionalWrites: true };
  const access: StoreAccess = { endpoint, region: "us-east-1", bucket: "trial", addressing: "path", traits };
  const engines: Engine[] = [];
  return {
    access,
    folder,
    credential,
    arm: async (rule) => void (await control("POST", "/rules", rule)),
    disarm: async () => void (await control("DELETE", "/rules")),
    setAhead: async (ms) => void (await control("PUT", "/clock", { offsetMs: ms })),
    count: async (op) => counters.parse(await control("GET", `/counters?op=${op}`)).targets,
    engine: ({ idleMs, patienceMs, limit = 0, connections = 4, signerNow = Date.now } = {}) => {
      const engine = createEngine({
        source: createDirectSource({ access, credential }),
        traits,
        connections,
        limitBytesPerSecond: limit,
        signerNow,
        retrier: createRetrier(systemClock, patienceMs),
        ...(idleMs === undefined ? {} : { idleMs }),
      });
      engines.push(engine);
      return engine;
    },
    close: async () => {
      for (const engine of engines) await engine.close();
      await spawned.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
