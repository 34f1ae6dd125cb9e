import { readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf, diskFault } from "../engine/disk-fault.ts";
import { findCandidates, type Candidate } from "../upload/find.ts";
import { lookAt } from "../upload/look.ts";
import type { Watch } from "../upload/watch.ts";
import { readReadiness } from "../upload/readiness.ts";
import type { LocalCheckpoint } from "./choose-resume.ts";

/** What lies in a watched folder while nobody writes to it. Faults: READ_FAILED. */
export async function readLocalCheckpoints(
  { folder, takes }: Watch,
  isKnown: (path: string, fingerprint: string) => boolean,
): Promise<LocalCheckpoint[]> {
  const found: LocalCheckpoint[] = [];
  for (const candidate of await findCandidates(folder, takes)) {
    const { path, step } = candidate;
    const look = await lookAt(candidate);
    if (look === null) continue;
    const known = isKnown(path, look.fingerprint);
    const isWhole = known || (!look.hasTemporary && (await isFinished(candidate, look)));
    found.push({ path, step, state: isWhole ? "whole" : "torn", isKnown: known });
  }
  return found;
}

/** Where a format says nothing, a program that was killed may have left half of it. */
async function isFinished(candidate: Candidate, look: Parameters<typeof readReadiness>[1]): Promise<boolean> {
  if (look.files.length === 0) return false;
  const readiness = await readReadiness(candidate, look);
  return readiness.says === "finished" || (readiness.says === "unsaid" && readiness.isWhole);
}

const ASIDE = ".set-aside-";

/**
 * Takes a checkpoint out of the program's sight without deleting it. Of each folder only the last one set aside is kept: a
 * program that crashes again and again must not fill the disk. Faults: WRITE_FAILED, NO_SPACE.
 */
export async function setAside(path: string): Promise<string> {
  const folder = dirname(path);
  const place = join(folder, `${ASIDE}${basename(path)}`);
  try {
    for (const name of await readdir(folder)) {
      if (name.startsWith(ASIDE)) await rm(join(folder, name), { recursive: true, force: true });
    }
    await rename(path, place);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return place;
    throw diskFault(error, { op: "run", subject: path, otherwise: "WRITE_FAILED" });
  }
  return place;
}

/** When the newest file of a checkpoint was written, epoch ms. Faults: READ_FAILED. */
export async function writtenAt(path: string): Promise<number> {
  const kind = (await stat(path)).isDirectory() ? "folder" : "file";
  return (await lookAt({ path, kind }))?.newestMs ?? 0;
}
