import type { EpochClaim } from "#protocol/checkpoint/checkpoint.ts";
import { epochClaimKey } from "#protocol/checkpoint/keys.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { nodeName, type RunName } from "#protocol/base/names.ts";
import { putObjectText } from "#storage/s3/objects.ts";
import type { Hub } from "../api/hub.ts";
import type { OpenStore } from "../api/ports/stores.ts";

/**
 * Writes the claim of an epoch into a home that lacks it, because the bucket was unreachable at the claim or became a home
 * later. A hub rebuilt from that bucket alone then knows the writer. An existing claim stays. @throws Fault those of the
 * store
 */
export async function ensureClaim(
  hub: Pick<Hub, "db">,
  store: Pick<OpenStore, "client" | "access" | "prefix">,
  at: { run: RunName; epoch: number },
): Promise<void> {
  const row = await hub.db.epoch.findUnique({
    where: { run_epoch: at },
    include: { node: { select: { name: true } } },
  });
  // Without conditional writes this could overwrite the claim of a second hub.
  if (row === null || !store.access.traits.conditionalWrites) return;
  const { parentEpoch, parentStep } = row;
  const claim: EpochClaim = {
    format: "tidemark.epoch",
    version: 1,
    ...at,
    parent: parentEpoch === null || parentStep === null ? null : { epoch: parentEpoch, step: Number(parentStep) },
    node: { id: row.nodeId, name: nodeName.parse(row.node.name) },
    claimedAt: row.claimedAt.getTime(),
    ...(row.isChosen && { isChosen: true }),
  };
  const key = epochClaimKey(store.prefix, at);
  try {
    const text = JSON.stringify(claim);
    await putObjectText(store.client, { bucket: store.access.bucket, key, text, ifNoneMatch: "*" });
  } catch (error) {
    if (!isFault(error) || error.code !== "ALREADY_EXISTS") throw error;
  }
}
