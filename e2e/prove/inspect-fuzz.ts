import { makeHostile, readSeeds, tryHostile } from "#storage/testing/fuzz-inspect.ts";
import type { Measure } from "./measure.ts";

const FILES = 120_000;
const MOST_NAMED = 20;
/** Most CPU time for one file, in milliseconds. The hub's own deadline for its inspection thread is ten times as long. */
const MOST_MS = 3_000;
/** Smallest file whose time per byte counts: below, the start of an inspection dominates. */
const LEAST_BYTES = 256;

/** Inspections of hostile files. The unit tests cover the first of them too. */
export const inspectFuzz: Measure = {
  name: "inspect-fuzz",
  row: 32,
  says: `${FILES.toLocaleString("en-US")} hostile checkpoint files are looked at: no crash, no hang, nothing read past an end or a limit`,
  run: async () => {
    const seeds = readSeeds();
    const problems: string[] = [];
    const formats = new Map<string, number>();
    let [faulty, slowestMs, slowestSeed, mostBytes] = [0, 0, 0, 0];
    const most = { micros: 0, microsSeed: 0, read: 0, readSeed: 0, told: 0, toldSeed: 0 };
    const startedAt = performance.now();
    for (let seed = 1; seed <= FILES; seed++) {
      const file = makeHostile(seed, seeds);
      const beganAt = process.threadCpuUsage();
      const { problem, found } = await tryHostile(file);
      const { user, system } = process.threadCpuUsage(beganAt);
      const tookMs = (user + system) / 1000;
      const length = file.bytes.length + file.beside.values().reduce((sum, { length: more }) => sum + more, 0);
      if (tookMs > MOST_MS && problems.length < MOST_NAMED)
        problems.push(`seed ${seed}: ${length} bytes of ${file.path} took ${Math.round(tookMs)} ms`);
      if (found !== null && length >= LEAST_BYTES) {
        const [micros, read] = [(user + system) / length, found.readBytes / length];
        const told = JSON.stringify(found).length / length;
        if (micros > most.micros) [most.micros, most.microsSeed] = [micros, seed];
        if (read > most.read) [most.read, most.readSeed] = [read, seed];
        if (told > most.told) [most.told, most.toldSeed] = [told, seed];
      }
      if (tookMs > slowestMs) [slowestMs, slowestSeed] = [tookMs, seed];
      if (problem !== null && problems.length < MOST_NAMED) problems.push(`seed ${seed}: ${problem}`);
      if (found === null) continue;
      formats.set(found.format, (formats.get(found.format) ?? 0) + 1);
      if (found.fault !== null) faulty++;
      mostBytes = Math.max(mostBytes, found.readBytes);
    }
    const perSecond = Math.round(FILES / ((performance.now() - startedAt) / 1000));
    const kinds = [...formats].sort(([, a], [, b]) => b - a).map(([format, count]) => `${format} ${count}`);
    const figures = [
      `${faulty} were found damaged, ${FILES - faulty} told of what is in them; ${perSecond} a second`,
      `slowest: ${slowestMs.toFixed(1)} ms (seed ${slowestSeed}); most read of one: ${mostBytes} bytes`,
      `of one byte, at most: ${most.micros.toFixed(1)} µs of processor time (seed ${most.microsSeed}), ${most.read.toFixed(1)} bytes read (seed ${most.readSeed}), ${most.told.toFixed(1)} characters told (seed ${most.toldSeed})`,
      `taken for: ${kinds.join(", ")}`,
    ];
    return { runs: FILES, problems, figures };
  },
};
