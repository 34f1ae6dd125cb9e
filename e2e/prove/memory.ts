import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sumOfObject } from "../faults/ask-store.ts";
import { startCopy } from "../faults/copy.ts";
import { sumsUnder } from "../faults/final-names.ts";
import { writeFileOf } from "../faults/payload.ts";
import { openRig, storeKeys } from "../faults/rig.ts";
import type { Measure } from "./measure.ts";
import { watchResident } from "./watch-resident.ts";

const MIB = 1024 * 1024;
const BYTES = 1_000 * MIB;
const LIMIT_BYTES = 512 * MIB;

/** Makes a memory cgroup, v1 or v2; null when that is not possible. */
function makeGroup(): { join: string; remove: () => void; events: () => number } | null {
  const name = `tidemark-prove-${process.pid}`;
  const old = join("/sys/fs/cgroup/memory", name);
  const modern = join("/sys/fs/cgroup", name);
  try {
    if (existsSync("/sys/fs/cgroup/memory")) {
      mkdirSync(old);
      writeFileSync(join(old, "memory.limit_in_bytes"), String(LIMIT_BYTES));
      const events = () =>
        Number(/oom_kill (\d+)/.exec(readFileSync(join(old, "memory.oom_control"), "utf8"))?.[1] ?? 0);
      return { join: join(old, "cgroup.procs"), remove: () => rmdirSync(old), events };
    }
    mkdirSync(modern);
    writeFileSync(join(modern, "memory.max"), String(LIMIT_BYTES));
    const events = () => Number(/oom_kill (\d+)/.exec(readFileSync(join(modern, "memory.events"), "utf8"))?.[1] ?? 0);
    return { join: join(modern, "cgroup.procs"), remove: () => rmdirSync(modern), events };
  } catch {
    return null;
  }
}

export const memory: Measure = {
  name: "memory",
  row: 29,
  says: "1 GB each way in 512 MB of memory on one processor, with the program's own concurrency and with 96",
  whyNot: () => {
    const group = makeGroup();
    group?.remove();
    return group === null ? "no memory group can be made here (it takes root)" : null;
  },
  run: async (program) => {
    const group = makeGroup();
    if (group === null) throw new Error("no memory group can be made here");
    const rig = await openRig({ program, size: "small" });
    const problems: string[] = [];
    const figures: string[] = [];
    let runs = 0;
    try {
      mkdirSync(join(rig.folder, "gigabyte"));
      const source = writeFileOf(join(rig.folder, "gigabyte", "one.bin"), BYTES);
      const [sum] = Object.values(source.sums);
      for (const concurrency of [null, 96]) {
        for (const direction of ["up", "down"] as const) {
          runs++;
          const remote = `s3://${rig.store.bucket}/one.bin`;
          const target = join(rig.folder, "back", "one.bin");
          mkdirSync(join(rig.folder, "back"), { recursive: true });
          const copy = startCopy({
            program,
            under: ["sh", "-c", `echo $$ > ${group.join} && exec taskset -c 0 "$@"`, "sh"],
            flags: {
              endpoint: rig.store.endpoint,
              provider: "minio",
              state: join(rig.folder, "state-memory"),
              ...(concurrency === null ? {} : { concurrency }),
            },
            ...(direction === "up" ? { from: source.path, to: remote } : { from: remote, to: target }),
            env: storeKeys(rig.store),
          });
          const resident = watchResident(copy.pid);
          const ending = await copy.ended;
          const mostBytes = resident();
          const title = `${direction}, ${concurrency ?? "own"} connections`;
          if (ending.code !== 0) problems.push(`${title}: ${ending.sentence ?? ending.signal ?? ending.stderr}`);
          if (ending.retries > 0) problems.push(`${title}: ${ending.retries} parts were tried again`);
          const found =
            direction === "up"
              ? await sumOfObject(rig.store, "one.bin")
              : sumsUnder(join(rig.folder, "back"))["one.bin"];
          if (found !== sum) problems.push(`${title}: wrong bytes`);
          figures.push(
            `${title}: ${Math.round(mostBytes / MIB)} MiB resident at most, ${(ending.tookMs / 1000).toFixed(1)} s`,
          );
        }
      }
      if (group.events() > 0) problems.push(`${group.events()} times out of memory`);
    } finally {
      await rig.close();
      group.remove();
    }
    return { runs, problems, figures };
  },
};
