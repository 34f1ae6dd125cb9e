import type { ImportedKelpieJob } from "#protocol/jobs/kelpie.ts";
import { formatCount } from "#protocol/base/units.ts";
import { shownName } from "../../command-line/command-context.ts";

/** Finds what is likely to go wrong with jobs of Kelpie, before they are imported. */

/** A finding about one or more jobs; `count` of them have it. */
export interface KelpieAdvice {
  says: string;
  count: number;
  /** Id of the first. */
  first: string;
}

type Submission = ImportedKelpieJob["submission"];
type Sync = NonNullable<NonNullable<Submission["sync"]>["during"]>[number];

const SECRET_NAME = /key|secret|token|password|credential/i;

const placeOf = ({ bucket, prefix }: { bucket: string; prefix: string }) => `${bucket}/${prefix.replace(/\/*$/, "/")}`;
const shownPlace = (place: string) => `s3://${shownName(place)}`;

/** Places that a job writes to. */
function writesOf(submission: Submission): string[] {
  const { sync } = submission;
  const rules: readonly Sync[] = [...(sync?.during ?? []), ...(sync?.after ?? [])];
  const legacy = (["checkpoint", "output"] as const).flatMap((name) => {
    const [bucket, prefix] = [submission[`${name}_bucket`], submission[`${name}_prefix`]];
    return bucket === undefined || prefix === undefined ? [] : [placeOf({ bucket, prefix })];
  });
  return [...new Set([...rules.map(placeOf), ...legacy])];
}

/** Returns the findings about one job alone. */
function findingsOf(submission: Submission): string[] {
  const found: string[] = [];
  const { sync, environment = {}, webhook = null } = submission;
  const before = sync?.before ?? [];
  const during = sync?.during ?? [];
  const after = sync?.after ?? [];
  const secrets = Object.keys(environment).filter((name) => SECRET_NAME.test(name));
  if (secrets.length > 0)
    found.push(
      `the environment has what looks like secrets (${secrets.slice(0, 3).map(shownName).join(", ")}): machines read it`,
    );
  if (webhook !== null && !/^https:/i.test(webhook)) found.push("the webhook is not https");
  if ((submission.heartbeat_interval ?? 30) < 10)
    found.push("heartbeat_interval is below 10 s: short gaps end attempts");
  if ((submission.max_failures ?? 3) === 1) found.push("max_failures is 1: the first failure is final");
  if ([...before, ...during, ...after].some(({ local_path: path }) => !path.startsWith("/")))
    found.push("a local_path is relative: its place depends on the working folder of the image");
  if (before.some(({ pattern }) => pattern?.startsWith("^") === true))
    found.push(
      "a pattern in sync.before begins with ^: downloads match the whole key, uploads the path below local_path",
    );
  if (during.some((one) => after.some(({ local_path: path }) => path === one.local_path)))
    found.push("one local_path is in during and in after: its files are uploaded twice");
  const filled = during.find((one) =>
    before.some((other) => other.local_path === one.local_path && placeOf(other) !== placeOf(one)),
  );
  if (filled !== undefined)
    found.push(
      "a local_path in during is filled from another prefix in before: files that the program changes go to the other one",
    );
  return found;
}

/** Returns the findings about jobs that are imported together, the most frequent first. */
export function adviseKelpieJobs(jobs: readonly Pick<ImportedKelpieJob, "id" | "submission">[]): KelpieAdvice[] {
  const found = new Map<string, KelpieAdvice>();
  const note = (says: string, id: string): void => {
    const known = found.get(says);
    if (known === undefined) found.set(says, { says, count: 1, first: id });
    else known.count += 1;
  };
  const writers = new Map<string, string[]>();
  for (const { id, submission } of jobs) {
    for (const says of findingsOf(submission)) note(says, id);
    for (const place of writesOf(submission)) writers.set(place, [...(writers.get(place) ?? []), id]);
  }
  for (const [place, [first = "", ...others]] of writers) {
    if (others.length > 0) {
      const says = `${formatCount(others.length + 1)} jobs write to ${shownPlace(place)}: they overwrite each other`;
      found.set(says, { says, count: others.length + 1, first });
    }
  }
  return [...found.values()].toSorted((a, b) => b.count - a.count);
}
