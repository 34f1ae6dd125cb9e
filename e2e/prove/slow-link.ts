import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Copy, type Ending, startCopy } from "../faults/copy.ts";
import { sumsUnder } from "../faults/final-names.ts";
import { writeFileOf } from "../faults/payload.ts";
import { storeKeys } from "../faults/rig.ts";
import { whyNoLink } from "../link/emulator.ts";
import { openStoreAcross } from "../link/open-store-across.ts";
import type { Measure } from "./measure.ts";

const MIB = 1024 * 1024;
const BYTES = 24 * MIB;
const LINK = { rttMs: 300, upMbit: 2, downMbit: 20, lossPercent: 2 };
/**
 * Longest time without visible progress. Progress is reported once a second, so bytes that move every two seconds show within
 * three.
 */
const LONGEST_STILL_MS = 3_000;
/** Largest factor by which the remaining time, as reported in the middle, may be wrong. */
const ETA_FACTOR = 2;
const MOST_CPU_SHARE = 0.1;

interface Seen {
  longestStillMs: number;
  etaRatio: number | null;
  cpuShare: number;
}

/** Copies over a very poor home link: slow, distant and lossy. */
export const slowLink: Measure = {
  name: "slow-link",
  row: 28,
  says: "24 MiB each way over 2 Mbit/s up, 20 down, 300 ms, 2 % of all packets lost",
  whyNot: whyNoLink,
  run: async (program) => {
    await using across = await openStoreAcross(LINK);
    const { link, store, folder } = across;
    const source = writeFileOf(join(folder, "source.bin"), BYTES);
    const [sum] = Object.values(source.sums);
    const back = join(folder, "back");
    mkdirSync(back);
    const problems: string[] = [];
    const figures: string[] = [];
    for (const direction of ["up", "down"] as const) {
      const remote = `s3://${store.bucket}/slow.bin`;
      const local = direction === "up" ? source.path : join(back, "slow.bin");
      const copy = startCopy({
        program,
        under: ["nsenter", `--net=${link.clientNetns}`],
        flags: { endpoint: store.endpoint, provider: "minio", state: join(folder, "state") },
        ...(direction === "up" ? { from: local, to: remote } : { from: remote, to: local }),
        env: storeKeys(store),
      });
      const cpu = watchCpu(copy.pid);
      const ending = await copy.ended;
      const { longestStillMs, etaRatio, cpuShare } = seenOf(copy, ending, cpu());
      const title = `${direction}: ${(ending.tookMs / 1000).toFixed(0)} s`;
      figures.push(
        `${title}, longest without progress ${(longestStillMs / 1000).toFixed(1)} s, time left in the middle ${etaRatio?.toFixed(2) ?? "-"} of the real one, ${(100 * cpuShare).toFixed(1)} % of a processor`,
      );
      if (ending.code !== 0) problems.push(`${title}: ${ending.sentence ?? ending.stderr}`);
      if (longestStillMs > LONGEST_STILL_MS)
        problems.push(`${title}: no progress for ${Math.round(longestStillMs)} ms`);
      if (etaRatio === null || etaRatio > ETA_FACTOR || etaRatio < 1 / ETA_FACTOR) {
        problems.push(`${title}: the time left was ${etaRatio?.toFixed(2) ?? "never told"}`);
      }
      if (cpuShare > MOST_CPU_SHARE) problems.push(`${title}: ${(100 * cpuShare).toFixed(0)} % of a processor`);
    }
    if (sumsUnder(back)["slow.bin"] !== sum) problems.push("wrong bytes came back");
    return { runs: 2, problems, figures };
  },
};

/** Evaluates lines of `--json`, which have a time, the bytes transferred and the remaining time. */
function seenOf(copy: Copy, ending: Ending, cpuSeconds: number): Seen {
  const lines = copy.said
    .filter(({ type }) => type === "progress")
    .map(({ at, bytesDone, bytesTotal, etaMs }) => ({
      at: Date.parse(String(at)),
      done: Number(bytesDone),
      total: Number(bytesTotal),
      etaMs: typeof etaMs === "number" ? etaMs : null,
    }));
  const last = lines.at(-1);
  const first = lines[0];
  let movedAt = first?.at ?? 0;
  let most = 0;
  let longestStillMs = lines.length < 2 ? Infinity : 0;
  for (const { at, done, total } of lines) {
    // At the end, only the store's last answers are outstanding.
    if (done > most || done === total) movedAt = at;
    most = Math.max(most, done);
    longestStillMs = Math.max(longestStillMs, at - movedAt);
  }
  const middle = lines.find(({ done, total, etaMs }) => done >= total / 2 && etaMs !== null);
  const leftMs = middle === undefined || last === undefined ? 0 : last.at - middle.at;
  const etaRatio = middle?.etaMs == null || leftMs <= 0 ? null : middle.etaMs / leftMs;
  return { longestStillMs, etaRatio, cpuShare: cpuSeconds / (ending.tookMs / 1000) };
}

const TICKS_PER_SECOND = 100;

/** Returns a function that returns the CPU seconds of a process, which may have ended since. */
function watchCpu(pid: number): () => number {
  let seconds = 0;
  const look = () => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      seconds = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
    } catch {
      // The process has ended; the last value counts.
    }
  };
  const timer = setInterval(look, 200);
  return () => {
    clearInterval(timer);
    return seconds;
  };
}
