import { join, relative } from "node:path";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { isThere } from "#worker/base/disk/is-there.ts";
import { findFinalModel } from "#worker/capture/detection/final-model.ts";
import type { Candidate } from "#worker/capture/detection/find.ts";
import { lookAt } from "#worker/capture/detection/look.ts";
import { readReadiness } from "#worker/capture/detection/readiness.ts";
import { createRecogniser, inOrderOfEvidence } from "#worker/capture/detection/recognise.ts";
import { findUntaken, untakenWords } from "#worker/capture/detection/untaken.ts";
import { findCandidates } from "#worker/capture/detection/walk-watched.ts";
import type { Watch } from "#worker/capture/watch.ts";
import { nextPlace } from "#worker/capture/detection/writes-elsewhere.ts";
import { doubtful, fine, type Finding } from "./finding.ts";

const MOST_LINES = 50;

/**
 * Looks at a watched folder as an agent would, and changes nothing: what it would take, as which step, where a restore would put
 * it back, and what it would leave, with reasons. No faults: what cannot be read is a finding.
 */
export async function checkWatch({ folder, takes }: Pick<Watch, "folder" | "takes">): Promise<Finding[]> {
  const check = "watch";
  if (!(await isThere(folder)))
    return [fine(check, `${folder} does not exist yet; it is watched as soon as the program makes it`)];
  const candidates = await findCandidates(folder, takes);
  const recogniser = createRecogniser({
    isNamed: takes !== null,
    watchedSince: 0,
    knows: () => false,
    isRestored: () => false,
  });
  const found: Finding[] = [];
  for (const candidate of inOrderOfEvidence(candidates)) {
    if (found.length >= MOST_LINES) break;
    found.push(await judge(candidate, { folder, recogniser }));
  }
  const final = await findFinalModel(folder).catch(() => null);
  const isState = final?.names?.some((name) => candidates.some(({ path }) => path === join(folder, name))) === true;
  if (final !== null && !isState)
    found.push(
      fine(check, `takes ${(final.names ?? []).join(", ")} as the final model of the run; nothing goes on from it`),
    );
  const more = candidates.length - Math.min(candidates.length, MOST_LINES);
  if (more > 0) found.push(fine(check, `and ${formatCount(more)} more like these`));
  const untaken = await findUntaken(folder, candidates);
  if (untaken.files > 0)
    found.push(doubtful(check, { says: `leaves ${untakenWords(untaken)}: no checkpoint format`, fix: NAME_IT }));
  const elsewhere = await nextPlace(folder);
  if (elsewhere !== null)
    found.push(
      doubtful(check, {
        says: `the framework makes a new folder in ${elsewhere.above} at its next start (${elsewhere.next}), because ${folder} is there`,
        fix: `Watch ${elsewhere.above} instead.`,
      }),
    );
  if (found.length === 0) found.push(fine(check, `${folder} holds no checkpoint yet`));
  return found;
}

const NAME_IT = "Where it is a checkpoint, name it with --pattern, or save it with `tidemark save`.";

async function judge(
  candidate: Candidate,
  { folder, recogniser }: { folder: string; recogniser: ReturnType<typeof createRecogniser> },
): Promise<Finding> {
  const check = "watch";
  const below = relative(folder, candidate.path);
  const look = await lookAt(candidate).catch(() => null);
  if (look === null)
    return doubtful(check, { says: `leaves ${below}: it cannot be read`, fix: "Check its permissions." });
  const { why } = await recogniser.judge(candidate, look);
  if (why !== null) return doubtful(check, { says: `leaves ${below}: ${why}`, fix: NAME_IT });
  const readiness = await readReadiness(candidate, look);
  const files = look.files.length === 1 ? "" : `, ${formatCount(look.files.length)} files`;
  const what = `${below} as ${stepWords(candidate.step, candidate.stepFrom)} (${formatBytes(look.sizeBytes)}${files})`;
  if (readiness.says === "unfinished")
    return doubtful(check, { says: `waits for ${what}: ${readiness.why}`, fix: "Its program writes the rest." });
  const names = candidate.names === undefined ? "" : ` with ${candidate.names.slice(1).join(", ")}`;
  return fine(check, `takes ${what}${names}; a restore puts it back at the same place`);
}
