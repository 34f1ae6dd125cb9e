import type { Finding } from "#protocol/checkpoint/findings.ts";
import { findingKey } from "#protocol/checkpoint/keys.ts";
import { runName } from "#protocol/base/names.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { newId } from "#server/platform/random-id.ts";

const DAY_MS = 86_400_000;
const dayOf = (at: Date): number => Math.floor(at.getTime() / DAY_MS);

/** The copy that was read: the one that the checkpoint's row names, or another. */
export type CopyRead = Pick<Checkpoint, "id" | "run" | "prefix" | "verifiedAt" | "damagedAt" | "profileId" | "bucket">;

/**
 * Queues a finding about a copy for its bucket, in the transaction that records it. A positive finding is written once a day:
 * fifty nodes that restore one checkpoint need not write it fifty times.
 */
export async function queueFinding(
  tx: Transaction,
  copy: CopyRead,
  about: { at: Date; found: Finding["found"] },
): Promise<void> {
  const { at, found } = about;
  const { id: checkpointId, prefix, verifiedAt, damagedAt, profileId, bucket } = copy;
  const isSaid = verifiedAt !== null && damagedAt === null && dayOf(verifiedAt) === dayOf(at);
  if (found.kind === "verified" && isSaid) return;
  const run = runName.parse(copy.run);
  const id = newId();
  const body: Finding = { format: "tidemark.finding", version: 1, id, run, checkpointId, at: at.getTime(), found };
  const key = findingKey(prefix, { run, checkpointId, id });
  const text = JSON.stringify(body);
  await tx.findingToKeep.create({ data: { key, checkpointId, profileId, bucket, text, createdAt: at } });
}
