import { Fault } from "#protocol/faults/fault.ts";
import { jobSecrets, type JobSecrets } from "#protocol/jobs/job-spec.ts";
import type { Transaction } from "#prisma/open.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { readStored } from "#server/platform/stored-json.ts";
import { jobSecretPlace, scheduleSecretPlace } from "#server/signer/secret-place.ts";

/**
 * Secrets of jobs: sealed at the submission, opened for the node that has the lease, deleted when the job cannot run again.
 * Those of a schedule are sealed with it, and opened when it submits a job.
 */

export interface SealedSecrets {
  sealed: string;
  keyVersion: number;
}

/** Returns the text that is sealed: the same for the same secrets in any order. */
const textOf = (secrets: JobSecrets): string =>
  JSON.stringify(Object.fromEntries(Object.entries(secrets).toSorted(([a], [b]) => (a < b ? -1 : 1))));

async function sealAt({ signer }: Pick<Hub, "signer">, place: string, secrets: JobSecrets) {
  if (Object.keys(secrets).length === 0) return null;
  return signer.sealText({ place, text: textOf(secrets) });
}

/** Seals the secrets of a job; null when it has none. */
export const sealSecrets = (
  hub: Pick<Hub, "signer">,
  jobId: string,
  secrets: JobSecrets,
): Promise<SealedSecrets | null> => sealAt(hub, jobSecretPlace(jobId), secrets);

/** Seals the secrets of a schedule; null when it has none. */
export const sealScheduleSecrets = (
  hub: Pick<Hub, "signer">,
  scheduleId: string,
  secrets: JobSecrets,
): Promise<SealedSecrets | null> => sealAt(hub, scheduleSecretPlace(scheduleId), secrets);

/** Returns the secrets of a schedule; `row`: null when it has none. @throws Fault MASTER_KEY_WRONG, INTERNAL when they cannot be read */
export async function openScheduleSecrets(
  { signer }: Pick<Hub, "signer">,
  row: { scheduleId: string; sealed: string } | null,
): Promise<JobSecrets> {
  if (row === null) return {};
  const { text } = await signer.openText({ place: scheduleSecretPlace(row.scheduleId), sealed: row.sealed });
  const secrets = readStored(text, jobSecrets);
  if (secrets === null) throw new Fault("INTERNAL", { subject: "the secrets of a schedule", detail: "they are lost" });
  return secrets;
}

/**
 * Returns the secrets of a job, for the node that holds its lease alone. @throws Fault MASTER_KEY_WRONG, INTERNAL when the job
 * names secrets and has none
 */
export async function openSecrets(
  { signer, db }: Pick<Hub, "signer" | "db">,
  { id, names }: { id: string; names: readonly string[] },
): Promise<JobSecrets> {
  if (names.length === 0) return {};
  const row = await db.jobSecret.findUnique({ where: { jobId: id } });
  const text = row === null ? null : (await signer.openText({ place: jobSecretPlace(id), sealed: row.sealed })).text;
  const secrets = readStored(text, jobSecrets);
  if (secrets === null) throw new Fault("INTERNAL", { subject: "the secrets of a job", detail: "they are lost" });
  return secrets;
}

/** Returns whether a job was stored with exactly these secrets. */
export async function hasSecrets(
  { signer }: Pick<Hub, "signer">,
  tx: Pick<Transaction, "jobSecret">,
  { id, secrets }: { id: string; secrets: JobSecrets },
): Promise<boolean> {
  const row = await tx.jobSecret.findUnique({ where: { jobId: id } });
  // Those of a job that is over are gone: names alone are compared then.
  if (row === null) return true;
  const { text } = await signer.openText({ place: jobSecretPlace(id), sealed: row.sealed });
  return text === textOf(secrets);
}
