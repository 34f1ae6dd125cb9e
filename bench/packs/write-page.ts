import { percentile } from "../fleet/percentile.ts";
import { measuredWith } from "../report/measured-with.ts";
import type { PacksResult } from "./result.ts";
import type { MeasuredTurn } from "./turn.ts";

/** Writes the page of the results of `packs`. */

/** Required speedup of packs. */
const WANTED_TIMES = 10;
const WAYS = ["file by file", "packed"] as const;
const WHATS = { saveSeconds: "saved", restoreSeconds: "restored" } as const;
type What = keyof typeof WHATS;

const count = (value: number): string => value.toLocaleString("en-US");
const of = (turns: readonly MeasuredTurn[], way: MeasuredTurn["way"]) => turns.filter((turn) => turn.way === way);

/** Returns how many times faster packs are, by the medians; null where only one way was measured. */
export function timesFaster({ turns }: Pick<PacksResult, "turns">, what: What): number | null {
  const median = (way: MeasuredTurn["way"]) =>
    percentile(
      of(turns, way).map((turn) => turn[what]),
      0.5,
    );
  if (WAYS.some((way) => of(turns, way).length === 0)) return null;
  return median("file by file") / median("packed");
}

function verdict(result: PacksResult, what: What): string {
  const times = timesFaster(result, what);
  if (times === null) return `* ${WHATS[what]}: not compared`;
  const isMet = times >= WANTED_TIMES;
  return `* ${isMet ? "met" : "**not met**"}: ${WHATS[what]} at least ${WANTED_TIMES} times as fast as file by file (${times.toFixed(1)})`;
}

/** Returns the whole page. */
export function packsPage(result: PacksResult): string {
  const { files, bytes, link, turns, refused } = result;
  const rows = turns.map(
    ({ way, round, saveSeconds, seenToSafeSeconds, restoreSeconds, puts, gets }) =>
      `| ${way} | ${round} | ${saveSeconds.toFixed(1)} s | ${seenToSafeSeconds.toFixed(1)} s | ${restoreSeconds.toFixed(1)} s | ${count(puts)} | ${count(gets)} |`,
  );
  return `# Small files in packs

Made by \`npm run bench -- packs\` from \`bench/results/packs.json\`; do not edit.

A checkpoint of ${count(files)} files of ${count(bytes)} bytes, random, saved by a worker and restored by it. Hub and store are at the far end of an
emulated link: ${link.rttMs} ms, ${link.upMbit} up / ${link.downMbit} down Mbit/s. Both ways take turns, with the usual
setting of the bucket. "Seen to safe" counts from the moment the folder has its name: it includes detecting that the
checkpoint is finished, and capturing it, which is the same both ways.

| | round | saved | seen to safe | restored | PUTs | GETs |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
${rows.join("\n")}

${verdict(result, "saveSeconds")}
${verdict(result, "restoreSeconds")}
${refused === 0 ? "" : "* **The emulator could not keep up**: measure again on a quieter machine.\n"}
${measuredWith(result, { hasLink: true })}
`;
}
