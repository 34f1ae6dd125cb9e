import { access, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf, diskFault } from "../engine/disk-fault.ts";
import { findCandidates, type Candidate } from "../upload/find.ts";
import { lookAt } from "../upload/look.ts";
import type { Watch } from "../upload/watch.ts";
import { readReadiness } from "../upload/readiness.ts";
import type { LocalCheckpoint } from "./choose-resume.ts";

interface DatedCheckpoint extends LocalCheckpoint {
  /** When its newest file was written: epoch ms. */
  writtenAt: number;
}

/**
 * What lies in a watched folder while nobody writes to it. Where a format does not say whether it is finished, a newer
 * checkpoint beside it does: its program went on. Faults: READ_FAILED.
 */
export async function readLocalCheckpoints(
  { folder, takes }: Watch,
  isKnown: (path: string, fingerprint: string) => boolean,
): Promise<DatedCheckpoint[]> {
  const found: DatedCheckpoint[] = [];
  for (const candidate of await findCandidates(folder, takes)) {
    const { path, step } = candidate;
    const look = await lookAt(candidate);
    if (look === null) continue;
    const known = isKnown(path, look.fingerprint);
    const state = known ? "whole" : look.temporary !== null ? "torn" : await stateOf(candidate, look);
    found.push({ path, step, state, isKnown: known, writtenAt: look.newestMs });
  }
  return found.map((one) => {
    const isFollowed = found.some((later) => later.step > one.step && later.writtenAt >= one.writtenAt);
    return one.state === "doubtful" && isFollowed ? { ...one, state: "whole" } : one;
  });
}

/** Where a format says nothing, a program that was killed may have left half of it. */
async function stateOf(
  candidate: Candidate,
  look: Parameters<typeof readReadiness>[1],
): Promise<LocalCheckpoint["state"]> {
  if (look.files.length === 0) return "torn";
  const readiness = await readReadiness(candidate, look);
  if (readiness.says === "unfinished") return "torn";
  return readiness.says === "finished" || readiness.isWhole ? "whole" : "doubtful";
}

const ASIDE = ".set-aside-";
/** Something in it says that it is not finished. */
const TORN = `${ASIDE}unfinished-`;

/** Takes a checkpoint out of the program's sight without deleting it. Faults: WRITE_FAILED, NO_SPACE. */
export async function setAside({ path, state }: Pick<LocalCheckpoint, "path" | "state">): Promise<string> {
  const wished = join(dirname(path), `${state === "torn" ? TORN : ASIDE}${basename(path)}`);
  try {
    const place = await freePlace(wished);
    await rename(path, place);
    return place;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return wished;
    throw diskFault(error, { op: "run", subject: path, otherwise: "WRITE_FAILED" });
  }
}

async function freePlace(wished: string): Promise<string> {
  for (let count = 1; ; count++) {
    const place = count === 1 ? wished : `${wished}.again-${count}`;
    const isThere = await access(place).then(
      () => true,
      () => false,
    );
    if (!isThere) return place;
  }
}

/**
 * Removes what an earlier start set aside and nobody needs any more: what was not finished, and what is no further than the
 * newest checkpoint that is safe. A program that crashes again and again must not fill the disk; but what may be whole and
 * further than all that is safe stays. Faults: WRITE_FAILED.
 */
export async function removeAside(folder: string, safeStep: number | null): Promise<void> {
  try {
    for (const name of await readdir(folder)) {
      const isPassed = () => {
        const step = /(\d{1,12})(?:\.\w+|\.again-\d+)*$/.exec(name)?.[1];
        return step !== undefined && safeStep !== null && Number(step) <= safeStep;
      };
      if (name.startsWith(TORN) || (name.startsWith(ASIDE) && isPassed()))
        await rm(join(folder, name), { recursive: true, force: true });
    }
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw diskFault(error, { op: "run", subject: folder, otherwise: "WRITE_FAILED" });
  }
}

/** When the newest file of a checkpoint was written, epoch ms. Faults: READ_FAILED. */
export async function writtenAt(path: string): Promise<number> {
  const kind = (await stat(path)).isDirectory() ? "folder" : "file";
  return (await lookAt({ path, kind }))?.newestMs ?? 0;
}
