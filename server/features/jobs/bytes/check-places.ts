import { Fault } from "#protocol/faults/fault.ts";
import { outputKey } from "#protocol/jobs/job-places.ts";
import type { JobSubmission } from "#protocol/jobs/job-spec.ts";
import type { ExpandedJob } from "#protocol/jobs/matrix.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { sealingOf } from "#server/core/profiles/seal-keys.ts";
import { ownKeysOf } from "./job-bucket.ts";

/**
 * Checks the buckets that jobs of a submission name, and returns the ids of their profiles by name. The bucket of the node is
 * checked when it asks for signatures. @throws Fault BAD_INPUT
 */
export async function checkPlaces(
  { db }: Pick<Hub, "db">,
  jobs: readonly ExpandedJob[],
): Promise<ReadonlyMap<string, string>> {
  const places = jobs.flatMap(({ job, index }) => placesOf(job).map((place) => ({ ...place, index })));
  const names = [...new Set(places.flatMap(({ profile }) => profile ?? []))];
  if (names.length === 0) return new Map();
  const rows = await db.profile.findMany({ where: { name: { in: names } } });
  const profiles = new Map(rows.map((row) => [row.name, row]));
  const owns = new Map<string, Awaited<ReturnType<typeof ownKeysOf>>>();
  for (const { bucket } of rows) if (!owns.has(bucket)) owns.set(bucket, await ownKeysOf(db, bucket));
  for (const { kind, profile, prefix, index } of places) {
    if (profile === undefined) continue;
    const refuse = (detail: string): Fault =>
      new Fault("BAD_INPUT", { op: "submit", subject: `job ${index + 1}`, detail: `${kind}s: ${detail}` });
    const row = profiles.get(profile);
    if (row === undefined) throw refuse(`there is no bucket profile ${profile}`);
    const isOwn = owns.get(row.bucket)?.(outputKey(prefix, "file")) === true;
    if (isOwn) throw refuse(`${prefix} lies where Tidemark keeps checkpoints; a job gets those by its run`);
    if (kind === "output" && sealingOf(row) !== "off")
      throw refuse(`${profile} requires encryption, and outputs are saved as they are`);
  }
  return new Map(rows.map(({ name, id }) => [name, id]));
}

const placesOf = ({ inputs, outputs }: JobSubmission) => [
  ...inputs.map(({ profile, prefix }) => ({ kind: "input" as const, profile, prefix })),
  ...outputs.map(({ profile, prefix }) => ({ kind: "output" as const, profile, prefix })),
];
