import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { SignedRequest } from "#protocol/wire/operations.ts";
import { sumBytes } from "#storage/checksums/combine-crc32.ts";
import { fetchRange } from "./fetch-range.ts";
import type { Gate } from "./gate.ts";
import { keepTrying, type Patience } from "./keep-trying.ts";
import { groupIsRight, type Range, type RangeGroup } from "./plan-ranges.ts";

/**
 * Downloads one file from a bucket to a browser: parallel ranges written to their positions, or in order for a stream. Each
 * range must be complete and pinned to the ETag. Recorded checksums are compared before the download succeeds.
 */

export interface DownloadTools {
  /** Signs a request for the whole object. Called again when the signature expires. */
  sign: (key: string, etag: string) => Promise<SignedRequest>;
  fetch: typeof globalThis.fetch;
  gate: Gate;
  patience: Omit<Patience, "signal" | "onFault">;
  onFault: (fault: Fault) => Promise<void>;
  /** Called with received bytes; negative when a failed range is going to be read again. */
  onBytes: (bytes: number) => void;
}

export interface Verdict {
  /** Bytes verified against a recorded checksum. */
  verifiedBytes: number;
}

/** Time before its expiry at which a signature is renewed, in milliseconds. */
const SIGNED_AHEAD_MS = 30_000;

interface Reading {
  tools: DownloadTools;
  signal: AbortSignal;
}

/** Consumer of the bytes of a range; each try gets a new one. */
interface Taker<Result> {
  take: (bytes: Uint8Array<ArrayBuffer>) => Promise<void> | void;
  /** Called after the last byte. Returns the CRC32 of the range, and the consumer's result. */
  end: () => Promise<{ sum: string; result: Result }>;
}

async function readRange<Result>(
  { range, group, take }: { range: Range; group: RangeGroup; take: () => Taker<Result> },
  { tools, signal }: Reading,
): Promise<{ sum: string; result: Result }> {
  const { gate } = tools;
  const patience: Patience = { ...tools.patience, signal, onFault: tools.onFault };
  return keepTrying(
    () =>
      gate.run(async () => {
        let came = 0;
        try {
          const request = await tools.sign(range.key, range.etag);
          const onBytes = (bytes: number): void => {
            came += bytes;
            gate.moved(bytes);
            tools.onBytes(bytes);
          };
          const taker = take();
          await fetchRange({ range, request, signal, fetch: tools.fetch, onBytes, take: taker.take });
          const ended = await taker.end();
          if (group.ranges.length === 1 && groupIsRight(group, [ended.sum]) === false) {
            throw new Fault("CHECKSUM_MISMATCH", { op: "GetObject", subject: range.key });
          }
          return ended;
        } catch (error) {
          tools.onBytes(-came);
          if (isFault(error) && error.retry === "backoff") gate.trouble();
          throw error;
        }
      }, signal),
    patience,
  );
}

/** Collects a range in memory, because bytes given to an in-order reader cannot be taken back on a retry. */
function collect({ length }: Range): Taker<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(length);
  let at = 0;
  return {
    take: (bytes) => {
      whole.set(bytes, at);
      at += bytes.length;
    },
    end: async () => ({ sum: sumBytes(whole), result: whole }),
  };
}

/** Bytes per write: large enough for few writes, small enough that a dozen buffers take little memory. */
const WRITTEN_BYTES = 1024 * 1024;

/** Buffers for reuse by later ranges. New buffers for each range would become garbage that is collected late. */
const spare: Uint8Array<ArrayBuffer>[] = [];
const MOST_SPARE = 16;

/** Writes a range to its position as it arrives. It holds at most two buffers, however long the range is (double buffering). */
function place({ at: from }: Range, write: Placed["write"]): Taker<null> {
  // Allocated at the first bytes, because browsers queue most requests for a connection.
  const buffers: Uint8Array<ArrayBuffer>[] = [];
  let sum = "00000000";
  let at = from;
  let filled = 0;
  let writing = Promise.resolve();
  const flush = async (): Promise<void> => {
    const [full] = buffers;
    if (full === undefined || filled === 0) return;
    // After this wait the other buffer is written and free.
    await writing;
    writing = write(at, full.subarray(0, filled));
    writing.catch(() => undefined);
    at += filled;
    filled = 0;
    buffers.reverse();
  };
  return {
    take: async (bytes) => {
      sum = sumBytes(bytes, sum);
      while (buffers.length < 2) buffers.push(spare.pop() ?? new Uint8Array(WRITTEN_BYTES));
      for (let taken = 0; taken < bytes.length;) {
        const [into] = buffers;
        if (into === undefined) return;
        const some = bytes.subarray(taken, taken + into.length - filled);
        into.set(some, filled);
        filled += some.length;
        taken += some.length;
        if (filled === into.length) await flush();
      }
    },
    end: async () => {
      await flush();
      await writing;
      // Not reused after a failure: a write from them may still be in progress.
      spare.push(...buffers.splice(0, MOST_SPARE - spare.length));
      return { sum, result: null };
    },
  };
}

function judge(group: RangeGroup, sums: readonly string[]): number {
  const right = groupIsRight(group, sums);
  if (right === false) throw new Fault("CHECKSUM_MISMATCH", { op: "GetObject", subject: group.ranges[0]?.key ?? "" });
  return right === null ? 0 : group.ranges.reduce((sum, { length }) => sum + length, 0);
}

export interface Placed {
  groups: readonly RangeGroup[];
  /** CRC32 of the ranges written before a pause, by position in the file. */
  written: Map<number, string>;
  write: (at: number, bytes: Uint8Array<ArrayBuffer>) => Promise<void>;
  signal: AbortSignal;
}

/**
 * Downloads ranges in parallel, each to its position. Ranges in `written` are skipped. @throws Fault CHECKSUM_MISMATCH and
 * others
 */
export async function downloadToPlaces(
  { groups, written, write, signal }: Placed,
  tools: DownloadTools,
): Promise<Verdict> {
  const stop = new AbortController();
  const about = { tools, signal: AbortSignal.any([signal, stop.signal]) };
  const wanted = groups.flatMap((group) =>
    group.ranges.filter(({ at }) => !written.has(at)).map((range) => ({ range, group })),
  );
  const left = wanted.values();
  let first: unknown = null;
  const lane = async (): Promise<void> => {
    for (const { range, group } of left) {
      try {
        const { sum } = await readRange({ range, group, take: () => place(range, write) }, about);
        written.set(range.at, sum);
      } catch (error) {
        first ??= error;
        stop.abort();
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(24, wanted.length) }, lane));
  if (first !== null) throw first;
  const sumsOf = (group: RangeGroup) => group.ranges.map(({ at }) => written.get(at) ?? "");
  return { verifiedBytes: groups.reduce((sum, group) => sum + judge(group, sumsOf(group)), 0) };
}

/** Most bytes read ahead of the consumer. A single longer range is allowed. */
const MOST_AHEAD_BYTES = 64 * 1024 * 1024;

/** Yields the bytes in order, one range at a time, reading some ranges ahead. A Fault ends the stream. */
export async function* downloadInOrder(
  { groups, signal }: Pick<Placed, "groups" | "signal">,
  tools: DownloadTools,
): AsyncGenerator<Uint8Array<ArrayBuffer>, Verdict> {
  const stop = new AbortController();
  const about = { tools, signal: AbortSignal.any([signal, stop.signal]) };
  const all = groups.flatMap((group) => group.ranges.map((range) => ({ range, group })));
  const ahead: ReturnType<typeof readRange<Uint8Array<ArrayBuffer>>>[] = [];
  let next = 0;
  let aheadBytes = 0;
  const mayRead = ({ range }: { range: Range }): boolean =>
    ahead.length === 0 || (ahead.length < tools.gate.width() && aheadBytes + range.length <= MOST_AHEAD_BYTES);
  const fill = (): void => {
    for (let one = all[next]; one !== undefined && mayRead(one); one = all[next]) {
      next++;
      aheadBytes += one.range.length;
      const { range, group } = one;
      const reading = readRange({ range, group, take: () => collect(range) }, about);
      // Handled when its turn comes; this prevents an unhandled rejection.
      reading.catch(() => undefined);
      ahead.push(reading);
    }
  };
  try {
    let verifiedBytes = 0;
    for (const group of groups) {
      const sums: string[] = [];
      for (const _ of group.ranges) {
        fill();
        const read = await ahead.shift();
        if (read === undefined) throw new Fault("INTERNAL", { op: "download" });
        sums.push(read.sum);
        aheadBytes -= read.result.length;
        yield read.result;
      }
      verifiedBytes += judge(group, sums);
    }
    return { verifiedBytes };
  } finally {
    stop.abort();
  }
}

/** Caches signatures per object until shortly before they expire. */
export function keepSigned(sign: DownloadTools["sign"]): DownloadTools["sign"] {
  const kept = new Map<string, Promise<SignedRequest>>();
  return async (key, etag) => {
    const name = `${key}\n${etag}`;
    const known = await kept.get(name)?.catch(() => null);
    if (known != null && known.expiresAt - SIGNED_AHEAD_MS > Date.now()) return known;
    const asked = sign(key, etag);
    kept.set(name, asked);
    return asked;
  };
}
