/**
 * Whether a bucket keeps deleted objects as old versions. `some`: its versioning was suspended, so that only what was written
 * before keeps its version (and its lock). Null when the store does not tell.
 */
export type KeepsVersions = boolean | "some" | null;

/** Returns the clause that says what a deletion did not free; empty where all is freed, or where nobody knows. */
export function keptVersionsClause(keeps: KeepsVersions): string {
  if (keeps === true)
    return "; the bucket keeps them as old versions, so nothing is freed until a rule of the bucket, or the end of its lock, removes them";
  if (keeps === "some")
    return "; versioning of the bucket was suspended: what was written before that stays as an old version and frees nothing";
  return "";
}
