import { randomBytes, randomUUID } from "node:crypto";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import type { FoundTraits } from "#protocol/wire/profiles.ts";
import type { ProfileTestView } from "#protocol/wire/profile-views.ts";
import { readHead, readPut } from "../s3/answers.ts";
import { checkRange } from "../answers/check-range.ts";
import { readCorsRules } from "../cors/bucket-cors.ts";
import {
  addNote,
  check,
  expectFault,
  isOk,
  measureSkew,
  patiently,
  perform,
  writeLine,
  type Bench,
  type CheckStoreInput,
  type Scratch,
} from "./check-bench.ts";
import { cleanUp } from "./check-clean-up.ts";
import { CHECKS, type CheckName } from "./check-list.ts";
import { checkAbort, checkConditionalComplete, checkMultipart, sumsOf } from "./check-multipart.ts";
import { clockCorrectionMs, clockOffsetMs, sayClock } from "../answers/clock-skew.ts";
import { letsIn } from "../cors/cors-rules.ts";
import { listObjects, listUploads } from "../s3/listing.ts";
import { deleteObject, putObjectText } from "../s3/objects.ts";
import { startChecksumProbe } from "./probe-traits.ts";

/**
 * The profile test. It performs every operation that the product needs, in the same way: data through signed requests,
 * control through the client. It works under a scratch prefix and always cleans up. Each operation has its own result
 * line, so a key with partial permissions shows which work. Later signatures use the traits found here (`found`).
 */

const DEFAULT_TIMEOUT_MS = 60_000;
const WRONG_ETAG = '"00000000000000000000000000000000"';

async function checkListing(bench: Bench): Promise<void> {
  const { client, access, prefix } = bench;
  await check(bench, "ListObjectsV2", async () => {
    await listObjects(client, { bucket: access.bucket, prefix, pageSize: 10 }).next();
  });
}

/** Runs a write that must be cleaned up, unless the store denied it. */
async function writing<T>(bench: Bench, key: string, work: () => Promise<T>): Promise<T> {
  bench.written.add(key);
  try {
    return await work();
  } catch (error) {
    if (isFault(error) && error.code === "ACCESS_DENIED") bench.written.delete(key);
    throw error;
  }
}

async function checkSmallObject(bench: Bench): Promise<void> {
  const { small: key } = bench.scratch;
  const bytes = randomBytes(2048);
  const nonce = randomUUID();
  const put = await check(bench, "PutObject", () =>
    writing(bench, key, async () => {
      const operation = { op: "put", key, sizeBytes: bytes.length, ...sumsOf(bytes), nonce } as const;
      return readPut(await perform(bench, operation, bytes), key);
    }),
  );
  await check(bench, "HeadObject", async () => {
    const head = readHead(await perform(bench, { op: "head", key }), key);
    const detail = "size or nonce differ from what was written";
    if (head.sizeBytes !== bytes.length || head.nonce !== nonce) {
      throw new Fault("UNEXPECTED_ANSWER", { op: "HeadObject", subject: key, detail });
    }
  });
  const range = { offset: 100, length: 1000, etag: put?.etag ?? null };
  await check(bench, "GetObject", async () => {
    const answer = await perform(bench, { op: "get", key, ...range });
    checkRange(answer, { ...range, subject: key });
    if (!answer.body.equals(bytes.subarray(range.offset, range.offset + range.length))) {
      throw new Fault("CHECKSUM_MISMATCH", { op: "GetObject", subject: key });
    }
  });
  await check(bench, "GetObject if-match", async () => {
    const answer = await perform(bench, { op: "get", key, ...range, etag: WRONG_ETAG });
    await expectFault("OBJECT_CHANGED", () => checkRange(answer, range));
  });
}

async function checkConditionalPut(bench: Bench): Promise<void> {
  const { client, access, scratch } = bench;
  const object = { bucket: access.bucket, key: scratch.once, text: "{}", ifNoneMatch: "*" } as const;
  await check(bench, "PutObject if-none-match", async () => {
    await writing(bench, scratch.once, () => putObjectText(client, object));
    await expectFault("ALREADY_EXISTS", () => patiently(() => putObjectText(client, object)));
  });
}

async function checkCors(bench: Bench): Promise<void> {
  const { client, access, origin } = bench;
  const rules = await check(bench, "GetBucketCors", () => readCorsRules(client, access.bucket));
  if (rules === null) return;
  const count = rules.length === 0 ? "no rules yet" : rules.length === 1 ? "1 rule" : `${rules.length} rules`;
  const lets = origin === undefined ? "" : letsIn(rules, origin) ? `, ${origin} may` : `, none for ${origin}`;
  addNote(bench, "GetBucketCors", rules.length === 0 ? count : count + lets);
}

async function checkTheRest(bench: Bench): Promise<void> {
  const { client, access, scratch } = bench;
  const { bucket } = access;
  await check(bench, "ListMultipartUploads", async () => {
    await listUploads(client, { bucket, prefix: scratch.folder }).next();
  });
  await check(bench, "DeleteObject", async () => {
    await deleteObject(client, { bucket, key: scratch.small });
    bench.written.delete(scratch.small);
  });
  await checkCors(bench);
}

/** Judges the clock without a request: an earlier answer told the store's time. */
function judgeClock(bench: Bench): void {
  const { clock, hopeless } = bench;
  if (hopeless !== null && hopeless.code !== "CLOCK_SKEW") {
    writeLine(bench, "Clock", { outcome: "skipped", skippedBecause: hopeless.check });
    return;
  }
  if (clock === null) {
    writeLine(bench, "Clock", { outcome: "unsupported", note: "the store does not tell its time" });
    return;
  }
  const seconds = (Math.abs(clockOffsetMs(clock)) / 1000).toFixed(1);
  const note = clock.leastMs <= 0 && clock.mostMs >= 0 ? "within a second" : `${seconds} s apart`;
  const says = sayClock(clock);
  if (clockCorrectionMs(clock) === 0 || says === null) {
    writeLine(bench, "Clock", { outcome: "ok", note });
    return;
  }
  const fault = new Fault("CLOCK_SKEW", { op: "Clock", detail: says }).toData();
  writeLine(bench, "Clock", { outcome: "failed", fault, note });
}

function foundBy(bench: Bench): FoundTraits {
  const outcomes = (["PutObject if-none-match", "CompleteMultipartUpload if-none-match"] satisfies CheckName[]).map(
    (name) => bench.lines.get(name)?.outcome,
  );
  const isSafe = outcomes.every((outcome) => outcome === "ok");
  return {
    checksum: bench.probe.isProven ? bench.probe.checksum : null,
    conditionalWrites: isSafe ? true : outcomes.includes("unsupported") ? false : null,
    foundAt: bench.now(),
  };
}

function scratchUnder(prefix: string): Scratch {
  const folder = `${prefix}${OWN_FOLDERS.checks}${randomUUID()}/`;
  return {
    folder,
    small: `${folder}small object+~é.bin`,
    once: `${folder}once.json`,
    large: `${folder}large.bin`,
    onceLarge: `${folder}once.bin`,
    dropped: `${folder}dropped.bin`,
  };
}

/**
 * Runs every operation that the product needs and returns the store's answer to each. `ok` is true when uploads and
 * restores work completely. Never throws. A store that answered and then lost a connection is tested once more: some close an idle
 * connection just as it is used again, and a write without an answer must not be repeated by itself.
 */
export async function checkStore(input: CheckStoreInput): Promise<ProfileTestView> {
  const found = await checkOnce(input);
  const isLost = found.checks.some(({ fault }) => fault?.code === "LINK_DOWN");
  if (!isLost || found.checks.every(({ outcome }) => outcome !== "ok")) return found;
  const again = await checkOnce(input);
  return { ...again, leftBehind: [...found.leftBehind, ...again.leftBehind] };
}

async function checkOnce(input: CheckStoreInput): Promise<ProfileTestView> {
  const now = input.now ?? Date.now;
  const at = now();
  const bench: Bench = {
    ...input,
    now,
    timeoutMs: input.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    scratch: scratchUnder(input.prefix),
    written: new Set(),
    uploadsStarted: new Map(),
    lines: new Map(),
    probe: startChecksumProbe(input.access.traits, { kept: null, nowMs: at }),
    clock: null,
    hopeless: null,
  };
  bench.clock = await measureSkew(bench);
  await checkListing(bench);
  await checkSmallObject(bench);
  await checkConditionalPut(bench);
  await checkMultipart(bench);
  await checkConditionalComplete(bench);
  await checkAbort(bench);
  await checkTheRest(bench);
  judgeClock(bench);
  const leftBehind = await cleanUp(bench);
  const ok = [...bench.lines.keys()].every((name) => !CHECKS[name].required || isOk(bench, name));
  const clockSkewMs = bench.clock === null ? null : clockOffsetMs(bench.clock);
  return { at, ok, checks: [...bench.lines.values()], clockSkewMs, leftBehind, found: foundBy(bench) };
}
