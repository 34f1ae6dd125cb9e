import { createHash } from "node:crypto";
import { createReadStream, mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listKeys, openUploads } from "../faults/ask-store.ts";
import { executableBeside } from "../faults/bundle.ts";
import { startCopy } from "../faults/copy.ts";
import { filesUnder } from "../faults/final-names.ts";
import { openRig, storeKeys } from "../faults/rig.ts";
import type { Measure } from "./measure.ts";
import { watchResident } from "./watch-resident.ts";

const GIB = 1024 ** 3;
const FILES = 50_000;

async function sumOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** What `--memory` is when nobody says it, and what the program may take besides. */
const MOST_RESIDENT_BYTES = 128 * 1024 ** 2 + 80e6;

/** What is too large for a trial: very many files, and one file beyond 5 GiB. */
export const manyFiles: Measure = {
  name: "many-files",
  row: 27,
  says: "50,000 files of some hundred bytes, up and down, within the memory for buffers and 80 MB",
  run: async (program) => {
    const rig = await openRig({ program, size: "small" });
    const problems: string[] = [];
    const figures: string[] = [];
    try {
      const from = join(rig.folder, "from");
      for (let index = 0; index < FILES; index++) {
        const folder = join(from, `shard-${index % 100}`);
        if (index < 100) mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, `file-${index}`), `${index} `.repeat(1 + (index % 50)));
      }
      const to = join(rig.folder, "to");
      for (const direction of ["up", "down"] as const) {
        const remote = `s3://${rig.store.bucket}/files/`;
        const copy = startCopy({
          program: executableBeside(program),
          flags: { endpoint: rig.store.endpoint, provider: "minio", state: join(rig.folder, "state-many") },
          ...(direction === "up" ? { from, to: remote } : { from: remote, to }),
          env: storeKeys(rig.store),
        });
        const resident = watchResident(copy.pid);
        const ending = await copy.ended;
        const megabytes = Math.round(resident() / 1e6);
        const most = Math.round(MOST_RESIDENT_BYTES / 1e6);
        if (ending.code !== 0) problems.push(`${direction}: ${ending.sentence ?? ending.stderr}`);
        if (megabytes > most) problems.push(`${direction}: ${megabytes} MB resident, more than ${most}`);
        const perSecond = Math.round(FILES / (ending.tookMs / 1000));
        figures.push(
          `${direction}: ${(ending.tookMs / 1000).toFixed(0)} s, ${perSecond} files/s, ${megabytes} MB resident at most`,
        );
      }
      const keys = await listKeys(rig.store, "files/");
      if (keys.length !== FILES) problems.push(`${keys.length} objects in the store, not ${FILES}`);
      if (filesUnder(to).length !== FILES) problems.push(`${filesUnder(to).length} files came back, not ${FILES}`);
    } finally {
      await rig.close();
    }
    return { runs: 2, problems, figures };
  },
};

export const largeFile: Measure = {
  name: "large-file",
  row: 27,
  says: "one file of 5 GiB and one byte, up and down",
  run: async (program) => {
    const rig = await openRig({ program, size: "small" });
    const problems: string[] = [];
    const figures: string[] = [];
    const bytes = 5 * GIB + 1;
    try {
      const source = join(rig.folder, "large.bin");
      writeFileSync(source, "");
      truncateSync(source, bytes);
      const back = join(rig.folder, "back.bin");
      for (const direction of ["up", "down"] as const) {
        const remote = `s3://${rig.store.bucket}/large.bin`;
        const copy = startCopy({
          program,
          flags: { endpoint: rig.store.endpoint, provider: "minio", state: join(rig.folder, "state-large") },
          ...(direction === "up" ? { from: source, to: remote } : { from: remote, to: back }),
          env: storeKeys(rig.store),
        });
        const ending = await copy.ended;
        if (ending.code !== 0) problems.push(`${direction}: ${ending.sentence ?? ending.stderr}`);
        figures.push(`${direction}: ${(ending.tookMs / 1000).toFixed(1)} s`);
      }
      if ((await sumOf(source)) !== (await sumOf(back))) problems.push("wrong bytes came back");
      if ((await openUploads(rig.store, "")).length > 0) problems.push("an unfinished upload was left");
    } finally {
      await rig.close();
    }
    return { runs: 2, problems, figures };
  },
};
