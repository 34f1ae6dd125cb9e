import { type LinkSettings, whyNoLink } from "../link/emulator.ts";
import { probeOver } from "../link/probe-over.ts";
import type { Measure } from "./measure.ts";

const LINKS: readonly LinkSettings[] = [
  { upMbit: 20, downMbit: 50, rttMs: 30 },
  { upMbit: 2, downMbit: 20, rttMs: 300 },
  { upMbit: 5, downMbit: 20, rttMs: 200 },
  { upMbit: 20, downMbit: 50, rttMs: 120, lossPercent: 0.1 },
  { upMbit: 20, downMbit: 300, rttMs: 60 },
  { upMbit: 100, downMbit: 300, rttMs: 120 },
  { upMbit: 300, downMbit: 300, rttMs: 30 },
];
/** Largest deviation from the link's rate, which includes packet headers, as a provider's contract does. */
const MOST_ERROR = 0.1;
const LONGEST_MS = 30_000;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Runs `tidemark probe` over emulated links with known rates. */
export const probedLink: Measure = {
  name: "probed-link",
  row: 31,
  says: "`tidemark probe` over links of 2 to 300 Mbit/s, 30 to 300 ms, with default settings",
  whyNot: whyNoLink,
  run: async (program) => {
    const problems: string[] = [];
    const figures: string[] = [];
    for (const link of LINKS) {
      const { upMbit, downMbit, rttMs, lossPercent = 0 } = link;
      const loss = lossPercent === 0 ? "" : `, ${lossPercent} % lost`;
      const title = `${upMbit} up, ${downMbit} down, ${rttMs} ms${loss}`;
      try {
        const probed = await probeOver(link, program);
        const { up, down, tookMs } = probed;
        figures.push(
          `${title}: ${percent(up)} of the rate up, ${percent(down)} down, ${probed.rttMs.toFixed(1)} ms, in ${(tookMs / 1000).toFixed(1)} s`,
        );
        for (const [name, share] of [["up", up] as const, ["down", down] as const]) {
          if (Math.abs(share - 1) > MOST_ERROR) problems.push(`${title}: ${percent(share)} of the rate ${name}`);
        }
        if (tookMs > LONGEST_MS) problems.push(`${title}: it took ${(tookMs / 1000).toFixed(0)} s`);
      } catch (error) {
        problems.push(`${title}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    return { runs: LINKS.length, problems, figures };
  },
};
