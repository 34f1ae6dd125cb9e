import { createHash } from "node:crypto";
import { createReadStream, mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listKeys, openUploads } from "../faults/ask-store.ts";
import { executableBeside } from "../faults/bundle.ts";
import { type Copy, startCopy } from "../faults/copy.ts";
import { filesUnder } from "../faults/final-names.ts";
import { openRig, storeKeys } from "../faults/rig.ts";
import { waitUntil } from "../stage/wait-until.ts";
import type { Measure } from "./measure.ts";
import { MOST_RESIDENT_BYTES, watchResident } from "./watch-resident.ts";

const GIB = 1024 ** 3;
const FILES = 200_000;
const HOUR_MS = 3_600_000;

async function sumOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

const FOLDERS = 100;

function writeFiles(folder: string): void {
  for (let index = 0; index < FILES; index++) {
    const below = join(folder, `shard-${index % FOLDERS}`);
    if (index < FOLDERS) mkdirSync(below, { recursive: true });
    writeFileSync(join(below, `file-${index}`), `${index} `.repeat(1 + (index % 50)));
  }
}

/** Follows a copy to its end, or kills it at `killAtFiles`. Returns its figures and problems. */
async function followCopy(copy: Copy, killAtFiles: number | null): Promise<{ figure: string; problems: string[] }> {
  const resident = watchResident(copy.pid);
  const isFar = () =>
    copy.said.some(({ filesDone }) => typeof filesDone === "number" && filesDone >= (killAtFiles ?? 0));
  if (killAtFiles !== null) {
    await Promise.race([waitUntil("most files are there", isFar, { withinMs: HOUR_MS }), copy.ended]);
    copy.kill("SIGKILL");
  }
  const ending = await copy.ended;
  const megabytes = Math.round(resident() / 1e6);
  const most = Math.round(MOST_RESIDENT_BYTES / 1e6);
  const wanted = killAtFiles === null ? ending.code === 0 : ending.signal === "SIGKILL";
  return {
    figure: `${(ending.tookMs / 1000).toFixed(0)} s, ${megabytes} MB resident at most`,
    problems: [
      ...(wanted ? [] : [ending.sentence ?? ending.stderr]),
      ...(megabytes > most ? [`${megabytes} MB resident, more than ${most}`] : []),
    ],
  };
}

/** Copies of very many small files. The measure is too long for a repeated trial. */
export const manyFiles: Measure = {
  name: "many-files",
  row: 27,
  says: `${FILES.toLocaleString("en-US")} files of some hundred bytes, up with a kill -9 on the way, and down, within the memory for buffers and 80 MB`,
  run: async (program) => {
    const rig = await openRig({ program, size: "small" });
    const problems: string[] = [];
    const figures: string[] = [];
    try {
      const [from, to] = [join(rig.folder, "from"), join(rig.folder, "to")];
      writeFiles(from);
      const remote = `s3://${rig.store.bucket}/files/`;
      const start = (ends: { from: string; to: string }) =>
        startCopy({
          program: executableBeside(program),
          flags: { endpoint: rig.store.endpoint, provider: "minio", state: join(rig.folder, "state-many") },
          ...ends,
          env: storeKeys(rig.store),
        });
      const steps = [
        { what: "up, killed when most were there", ends: { from, to: remote }, killAtFiles: 0.7 * FILES },
        { what: "gone on with", ends: { from, to: remote }, killAtFiles: null },
        { what: "down", ends: { from: remote, to }, killAtFiles: null },
      ];
      for (const { what, ends, killAtFiles } of steps) {
        const followed = await followCopy(start(ends), killAtFiles);
        problems.push(...followed.problems.map((problem) => `${what}: ${problem}`));
        figures.push(`${what}: ${followed.figure}`);
      }
      const keys = await listKeys(rig.store, "files/");
      if (keys.length !== FILES) problems.push(`${keys.length} objects in the store, not ${FILES}`);
      if (filesUnder(to).length !== FILES) problems.push(`${filesUnder(to).length} files came back, not ${FILES}`);
    } finally {
      await rig.close();
    }
    return { runs: 3, problems, figures };
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
