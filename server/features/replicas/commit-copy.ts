import { stepText } from "#protocol/checkpoint/step-words.ts";
import { manifest as manifestSchema, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { copyState, mayCopyBecome, sameContent } from "#protocol/wire/homes.ts";
import { attemptPrefix, parseDataKey } from "#protocol/checkpoint/keys.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { checkObjects } from "#server/core/checkpoints/manifest/check-manifest.ts";
import { writeManifest } from "#server/core/checkpoints/manifest/write-manifest.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { LiveNode } from "#server/core/live/live-node.ts";
import { hearCaller } from "#server/core/nodes/hear-caller.ts";
import { storedTextOf } from "#server/core/api/parsed-elsewhere.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { ensureClaim } from "#server/core/runs/ensure-claim.ts";
import { oweWords, payWords } from "#server/core/retention/write-retention-records.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";

/**
 * Commits a copy like a checkpoint: the hub trusts nothing, compares every object with the bucket, writes the manifest for that
 * bucket itself, reads it back and records its digest. The manifest must equal the committed one, except for keys and ETags.
 */

async function findCopy(hub: Hub, node: LiveNode, manifest: Manifest) {
  const profileId = manifest.homes[0]?.profileId ?? "";
  const checkpoint = await hub.db.checkpoint.findUnique({ where: { id: manifest.id }, include: { content: true } });
  const where = { checkpointId_profileId: { checkpointId: manifest.id, profileId } };
  const copy = await hub.db.checkpointCopy.findUnique({ where });
  const text = checkpoint?.content?.manifest ?? null;
  if (checkpoint === null || copy === null || text === null) {
    throw new Fault("NOT_FOUND", { op: "commitCopy", subject: manifest.id, detail: "it was not begun" });
  }
  if (copy.nodeId !== node.id || copy.attempt !== manifest.attempt) {
    throw new Fault("NOT_THIS_NODES", { op: "commitCopy", subject: manifest.id });
  }
  return { checkpoint, copy, text };
}

/**
 * Checks the manifest of a copy against the committed one, and that all keys belong to the attempt.
 * @throws Fault BAD_INPUT, NOT_THIS_NODES
 */
function checkSame(manifest: Manifest, about: { text: string; own: string; prefix: string }): void {
  const committed = manifestSchema.parse(JSON.parse(about.text));
  if (!sameContent(manifest, committed)) {
    throw new Fault("BAD_INPUT", { op: "commitCopy", subject: "manifest", detail: "it is not what was committed" });
  }
  for (const { key } of manifest.files.flatMap(({ extents }) => extents)) {
    parseDataKey(about.prefix, key);
    if (!key.startsWith(about.own)) throw new Fault("NOT_THIS_NODES", { op: "commitCopy", subject: key });
  }
}

async function recordComplete(
  hub: Hub,
  node: LiveNode,
  about: { checkpoint: Checkpoint; profileId: string; key: string; text: string; sha256: string; to: string },
): Promise<void> {
  const { checkpoint, profileId, key, text, sha256, to } = about;
  const { id, run, step } = checkpoint;
  const at = new Date(hub.now());
  const event = await hub.db.$transaction(async (tx) => {
    const { state } = await tx.checkpoint.findUniqueOrThrow({ where: { id } });
    if (state !== "complete") throw new Fault("CONFLICT", { op: "commitCopy", subject: id });
    const { count } = await tx.checkpointCopy.updateMany({
      where: { checkpointId: id, profileId, state: "copying" },
      data: {
        state: "complete",
        committedAt: at,
        manifestKey: key,
        manifestSha256: sha256,
        manifest: text,
        damagedAt: null,
        damage: null,
      },
    });
    if (count === 0) throw new Fault("CONFLICT", { op: "commitCopy", subject: id });
    // Retention records that were written meanwhile must also go into this bucket.
    await oweWords(tx, { checkpointId: id, profileIds: [profileId], since: at });
    const line = `copied ${stepText(step)} of ${run} to ${to}`;
    const rest = { at: at.getTime(), kind: "checkpoint-copied" as const, work: "safe" as const, node, run };
    return recordEvent(tx, { ...rest, step: Number(step), text: line });
  });
  emit(hub, event, ["checkpoints", "runs", "profiles"]);
}

/** Completes a copy. @throws Fault NOT_FOUND, NOT_THIS_NODES, BAD_INPUT, CONFLICT, those of `checkObjects` and the store */
export async function commitCopy(
  { hub, caller }: Context & { caller: NodeCaller },
  { manifest }: { manifest: Manifest },
): Promise<{ sha256: string }> {
  const node = await hearCaller({ hub, caller });
  const { text, sha256 } = storedTextOf(manifest);
  return hub.locks.run(`copy ${manifest.id}`, async () => {
    const { checkpoint, copy, text: committed } = await findCopy(hub, node, manifest);
    const { profileId, bucket, prefix } = copy;
    if (copy.state === "complete" && copy.manifestSha256 === sha256) return { sha256 };
    if (
      !mayCopyBecome(copyState.parse(copy.state), "complete") ||
      checkpoint.state !== "complete" ||
      checkpoint.profileId === profileId
    ) {
      throw new Fault("CONFLICT", { op: "commitCopy", subject: manifest.id, detail: `the copy is ${copy.state}` });
    }
    const { run, attempt, writerEpoch: epoch, id: checkpointId, homes } = manifest;
    if (JSON.stringify(homes) !== JSON.stringify([{ profileId, bucket, prefix }])) {
      throw new Fault("BAD_INPUT", {
        op: "commitCopy",
        subject: "manifest",
        detail: "its home is not that of the copy",
      });
    }
    checkSame(manifest, { text: committed, own: attemptPrefix(prefix, { run, epoch, attempt }), prefix });
    const store = await hub.stores.open(profileId);
    await checkObjects(store, manifest, { bucket, prefix, run, writerEpoch: epoch, attempt });
    await ensureClaim(hub, store, { run, epoch });
    const key = await writeManifest(store, manifest, { bucket, prefix, text });
    await recordComplete(hub, node, { checkpoint, profileId, key, text, sha256, to: store.profileName });
    await payWords(hub, { checkpointId, profileId }).catch((error: unknown) =>
      hub.log.warn({ error, checkpointId }, "what is said about a checkpoint is not in its copy's bucket yet"),
    );
    return { sha256 };
  });
}
