import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { toFault } from "#protocol/faults/fault.ts";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { isThere } from "#worker/base/disk/is-there.ts";
import { removeOwned } from "#worker/base/disk/change-disk.ts";
import { findBeside } from "#worker/capture/detection/beside.ts";
import type { Candidate } from "#worker/capture/detection/find.ts";
import { lookAt, type Look } from "#worker/capture/detection/look.ts";
import { readReadiness } from "#worker/capture/detection/readiness.ts";
import { createRecogniser, inOrderOfEvidence } from "#worker/capture/detection/recognise.ts";
import { findFinal, findLeft } from "#worker/capture/detection/look-over.ts";
import {
  apartOf,
  notEnteredFaults,
  smallWords,
  untakenReason,
  untakenWords,
} from "#worker/capture/detection/untaken.ts";
import { createFinder } from "#worker/capture/detection/walk-watched.ts";
import type { Watch } from "#worker/capture/watch.ts";
import { nextPlace } from "#worker/capture/detection/writes-elsewhere.ts";
import { doubtful, fine, type Finding } from "./finding.ts";

const MOST_LINES = 50;

/**
 * Looks at a watched folder as an agent would, and changes nothing. Reports which checkpoints it would capture, under
 * which step, where a restore would put them, which files it keeps with them, and what it would skip and why. Never
 * throws: an unreadable folder is a finding.
 */
export async function checkWatch({
  takes,
  ...watched
}: Pick<Watch, "folder" | "takes" | "followsLinks" | "isDefault">): Promise<Finding[]> {
  const { folder } = watched;
  if (!(await isThere(folder)))
    return [fine(CHECK, `${folder} does not exist yet; it is watched as soon as the program makes it`)];
  const finder = createFinder(watched, takes);
  const candidates = await finder.find();
  // In a default folder, checkpoints that exist now were there before the run.
  const watchedSince = watched.isDefault === true ? Date.now() : 0;
  const recogniser = createRecogniser({
    isNamed: takes !== null,
    onlyOwn: watched.isDefault === true,
    watchedSince,
    knows: () => false,
    isRestored: () => false,
  });
  const found: Finding[] = [];
  let newest: { candidate: Candidate; writtenMs: number } | null = null;
  for (const candidate of inOrderOfEvidence(candidates).slice(0, MOST_LINES)) {
    const { finding, writtenMs } = await judge(candidate, { folder, recogniser });
    found.push(finding);
    if (writtenMs !== null && writtenMs >= (newest?.writtenMs ?? 0)) newest = { candidate, writtenMs };
  }
  if (newest !== null) found.push(...(await besideOf(folder, newest.candidate)));
  const options = { newestCheckpointMs: newest?.writtenMs ?? null, now: Date.now(), quietMs: 0, watchedSince };
  const final = await findFinal({ watch: watched, finder }, options).catch(() => null);
  if (final !== null) found.push(fine(CHECK, finalWords(folder, final)));
  const more = candidates.length - Math.min(candidates.length, MOST_LINES);
  if (more > 0) found.push(fine(CHECK, `and ${formatCount(more)} more like these`));
  const untaken = await findLeft({ watch: watched, finder }, { final });
  if (untaken.files > 0)
    found.push(
      apartOf(untaken) === null
        ? doubtful(CHECK, { says: `leaves ${untakenWords(untaken)}: no checkpoint format`, fix: NAME_IT })
        : doubtful(CHECK, {
            says: `leaves ${untakenWords(untaken)}: ${untakenReason(untaken)}`,
            fix: apartOf(untaken)?.kind === "dot" ? RENAME_IT : WATCH_IT,
          }),
    );
  else if (untaken.small.files > 0) found.push(fine(CHECK, `leaves ${smallWords(untaken)}: no checkpoint format`));
  for (const { context } of notEnteredFaults(folder, untaken))
    found.push(
      doubtful(CHECK, { says: `leaves ${context.subject ?? folder}: ${context.detail ?? ""}`, fix: WATCH_IT }),
    );
  const elsewhere = await nextPlace(folder);
  if (elsewhere !== null)
    found.push(
      doubtful(CHECK, {
        says: `the framework makes a new folder in ${elsewhere.above} at its next start (${elsewhere.next}), because ${folder} is there`,
        fix: `Watch ${elsewhere.above} instead.`,
      }),
    );
  if (found.length === 0) found.push(fine(CHECK, `${folder} holds no checkpoint yet`));
  return found;
}

const CHECK = "watch";
const WATCH_IT = "Where checkpoints are there, watch that folder itself.";
const RENAME_IT = "Where it is a checkpoint, save it without the dot in front of its name, or with `tidemark save`.";
const NAME_IT = "Where it is a checkpoint, name it with --pattern, or save it with `tidemark save`.";

/** Returns what an agent would do with a candidate. `writtenMs` null: the agent would not capture it. */
async function judge(
  candidate: Candidate,
  { folder, recogniser }: { folder: string; recogniser: ReturnType<typeof createRecogniser> },
): Promise<{ finding: Finding; writtenMs: number | null }> {
  const below = relative(folder, candidate.path);
  const leaves = (why: string, fix: string) => ({
    finding: doubtful(CHECK, { says: `leaves ${below}: ${why}`, fix }),
    writtenMs: null,
  });
  let look: Look | null;
  try {
    look = await lookAt(candidate);
  } catch (error) {
    const { context, code } = toFault(error);
    return leaves(context.detail ?? code, code === "LINK_REFUSED" ? "Add --follow-links." : "Check its permissions.");
  }
  if (look === null) return leaves("it cannot be read", "Check its permissions.");
  const { why } = await recogniser.judge(candidate, look);
  if (why !== null) return leaves(why, NAME_IT);
  const readiness = await readReadiness(candidate, look);
  const files = look.files.length === 1 ? "" : `, ${formatCount(look.files.length)} files`;
  const what = `${below} as ${stepWords(candidate.step, candidate.stepFrom)} (${formatBytes(look.sizeBytes)}${files})`;
  const writtenMs = look.newestMs;
  if (readiness.says === "unfinished") {
    const says = `waits for ${what}: ${readiness.why}`;
    return { finding: doubtful(CHECK, { says, fix: "Its program writes the rest." }), writtenMs };
  }
  const names = candidate.names === undefined ? "" : ` with ${candidate.names.slice(1).join(", ")}`;
  return { finding: fine(CHECK, `takes ${what}${names}; a restore puts it back at the same place`), writtenMs };
}

/** Returns what is kept with a checkpoint: pointers, links and settings around it. */
async function besideOf(folder: string, candidate: Candidate): Promise<Finding[]> {
  const scratch = await mkdtemp(join(tmpdir(), "tidemark-beside-"));
  try {
    const { entries, left } = await findBeside(folder, candidate, scratch);
    const kept = entries.map((entry) => ("link" in entry ? `${entry.path} -> ${entry.link}` : entry.path));
    const large = left.filter(({ isLarge }) => isLarge).map(({ path }) => path);
    return [
      ...(kept.length > 0 ? [fine(CHECK, `keeps with ${candidate.name}: ${kept.join(", ")}`)] : []),
      ...(large.length > 0
        ? [doubtful(CHECK, { says: `leaves ${large.join(", ")}: larger than 1 MiB`, fix: "Keep it elsewhere." })]
        : []),
    ];
  } finally {
    await removeOwned("scratch", scratch);
  }
}

const finalWords = (folder: string, { path, names = [] }: Omit<Candidate, "step">): string => {
  const place = relative(folder, path);
  return `takes ${names.join(", ")}${place === "" ? "" : ` of ${place}`} as the final model of the run; nothing goes on from it`;
};
