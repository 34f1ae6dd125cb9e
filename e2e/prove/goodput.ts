import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { sumOfObject } from "../faults/ask-store.ts";
import { startCopy } from "../faults/copy.ts";
import { sumsUnder } from "../faults/final-names.ts";
import { writeFileOf } from "../faults/payload.ts";
import { openRig, type Rig, storeKeys } from "../faults/rig.ts";
import type { Direction } from "../faults/toxics.ts";
import type { Measure } from "./measure.ts";

const MIB = 1024 * 1024;
const BYTES = 2_000 * MIB;
/**
 * Rate of a good home link, in bytes per second. On an unlimited link a reset costs almost nothing, and the ratio is
 * meaningless.
 */
const RATE = 60 * MIB;
const LEAST = 0.7;
/** Interval at which each open connection is reset with probability `CHANCE`. */
const EVERY_MS = 500;
const CHANCE = 0.1;

async function once(rig: Rig, about: { direction: Direction; path: string; key: string; link: "clean" | "resets" }) {
  const { direction, path, key, link } = about;
  await rig.heal(42);
  rig.proxy.arm({ direction, toxic: { kind: "latency", ms: 20 } });
  const remote = `s3://${rig.store.bucket}/${key}`;
  const copy = startCopy({
    program: rig.program,
    flags: {
      endpoint: rig.proxy.endpoint,
      provider: "minio",
      state: join(rig.folder, "state-goodput"),
      [`limit-${direction}`]: RATE,
    },
    ...(direction === "up" ? { from: path, to: remote } : { from: remote, to: path }),
    env: storeKeys(rig.store),
  });
  let resets = 0;
  const timer = setInterval(() => {
    if (link === "resets") resets += rig.proxy.resetSome(CHANCE);
  }, EVERY_MS);
  const ending = await copy.ended;
  clearInterval(timer);
  return { ending, resets };
}

export const goodput: Measure = {
  name: "goodput",
  row: 3,
  says: "2 GB at 60 MiB/s while every half second one connection in ten is reset, beside the same without resets",
  run: async (program) => {
    const rig = await openRig({ program, size: "small" });
    const problems: string[] = [];
    const figures: string[] = [];
    try {
      mkdirSync(join(rig.folder, "two"));
      const source = writeFileOf(join(rig.folder, "two", "gigabytes.bin"), BYTES);
      const [sum] = Object.values(source.sums);
      for (const direction of ["up", "down"] as const) {
        const took: Record<string, number> = {};
        for (const link of ["clean", "resets"] as const) {
          const target = join(rig.folder, "back", `${link}.bin`);
          mkdirSync(join(rig.folder, "back"), { recursive: true });
          const path = direction === "up" ? source.path : target;
          const key = direction === "up" ? `${link}.bin` : "clean.bin";
          const { ending, resets } = await once(rig, { direction, path, key, link });
          took[link] = ending.tookMs;
          if (ending.code !== 0) problems.push(`${direction}, ${link}: ${ending.sentence ?? ending.stderr}`);
          else if (direction === "up" && (await sumOfObject(rig.store, key)) !== sum)
            problems.push(`wrong bytes in the store (${link})`);
          else if (direction === "down" && sumsUnder(join(rig.folder, "back"))[`${link}.bin`] !== sum)
            problems.push(`wrong bytes on disk (${link})`);
          figures.push(
            `${direction}, ${link}: ${(ending.tookMs / 1000).toFixed(1)} s, ${resets} resets, ${ending.retries} parts tried again`,
          );
          rmSync(target, { force: true });
        }
        const ratio = (took["clean"] ?? 0) / Math.max(1, took["resets"] ?? 1);
        figures.push(`${direction}: ${(100 * ratio).toFixed(0)} % of the clean speed`);
        if (ratio < LEAST)
          problems.push(`${direction}: ${(100 * ratio).toFixed(0)} % of the clean speed, less than 70 %`);
      }
    } finally {
      await rig.close();
    }
    return { runs: 4, problems, figures };
  },
};
