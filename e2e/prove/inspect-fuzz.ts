import { makeHostile, readSeeds, tryHostile } from "#storage/testing/fuzz-inspect.ts";
import type { Measure } from "./measure.ts";

const FILES = 120_000;
const MOST_NAMED = 20;

/** Files that were made to do harm to those who look inside; the first of them are in the unit tests too. */
export const inspectFuzz: Measure = {
  name: "inspect-fuzz",
  row: 32,
  says: `${FILES.toLocaleString("en-US")} hostile checkpoint files are looked at: no crash, no hang, nothing read past an end or a limit`,
  run: async () => {
    const seeds = readSeeds();
    const problems: string[] = [];
    const formats = new Map<string, number>();
    let [faulty, slowestMs, slowestSeed, mostBytes] = [0, 0, 0, 0];
    const startedAt = performance.now();
    for (let seed = 1; seed <= FILES; seed++) {
      const file = makeHostile(seed, seeds);
      const beganAt = performance.now();
      const { problem, found } = await tryHostile(file);
      const tookMs = performance.now() - beganAt;
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
      `taken for: ${kinds.join(", ")}`,
    ];
    return { runs: FILES, problems, figures };
  },
};
