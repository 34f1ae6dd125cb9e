import type { ProfileCheck } from "#protocol/wire/profile-views.ts";
import { CHECKS, type CheckName } from "#storage/profile-test/check-list.ts";
import { doubtful, failed, fine, skipped, type Finding } from "./finding.ts";
import type { Trial, Tried } from "./try-store.ts";

/** Tries every operation of the store with these keys. Returns one finding for each. */
export async function checkPermissions(trial: Trial): Promise<Finding[]> {
  const { tryStore } = await import("./try-store.ts");
  return judgeStore(await tryStore(trial), trial);
}

/** Checks that the doctor leaves out: a node moves no bytes for a browser, and the clock has a check of its own. */
const NOT_OURS: ReadonlySet<string> = new Set<CheckName>(["GetBucketCors", "Clock"]);

/** Turns the results of the bucket test into findings. Pure. */
export function judgeStore({ view, region }: Tried, trial: Pick<Trial, "access" | "prefix">): Finding[] {
  const found = view.checks
    .filter(({ operation }) => !NOT_OURS.has(operation))
    .map((check) => judgeOperation(check, trial));
  const given = trial.access.region;
  if (region === given) return found;
  const says = `the bucket is in ${region}, not in ${given}; transfers find that out anew each time`;
  const fix = `Say so from the start: --region ${region}, or AWS_REGION=${region}.`;
  return [doubtful("region", { says, fix }), ...found];
}

const isRequired = (operation: string): boolean =>
  Object.entries(CHECKS).some(([name, { required }]) => name === operation && required);

function judgeOperation(check: ProfileCheck, { access, prefix }: Pick<Trial, "access" | "prefix">): Finding {
  const { operation, outcome, neededFor, missingAction, fault } = check;
  const required = isRequired(operation);
  if (outcome === "ok") return fine(operation, neededFor);
  if (outcome === "skipped") {
    return skipped(operation, {
      says: `not tried, because an earlier operation failed; ${neededFor}`,
      fix: "Fix the ones above first.",
    });
  }
  if (outcome === "unsupported" && !required) {
    return fine(operation, "this store does not support it, and Tidemark does without it");
  }
  const subject = `s3://${access.bucket}/${prefix}`;
  // Permission to list a bucket is granted on the bucket, every other one on its objects.
  const place = missingAction?.includes("Bucket") === true ? access.bucket : `${access.bucket}/${prefix}*`;
  const fix = missingAction === null ? undefined : `Allow these keys ${missingAction} on arn:aws:s3:::${place}`;
  const made = failed(operation, { ...(fault ?? { code: "UNEXPECTED_ANSWER" }), subject }, fix);
  const says = `${made.says} It is needed for ${neededFor}.`;
  return { ...made, says, outcome: required ? "failed" : "warn" };
}
