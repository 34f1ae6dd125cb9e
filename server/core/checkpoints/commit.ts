import { stepText } from "#protocol/checkpoint/step-words.ts";
import { mayBecome, type CheckpointState, type Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { formatBytes } from "#protocol/base/units.ts";
import { isSealed } from "#storage/encryption/open-manifest.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import type { LiveNode } from "../live/live-node.ts";
import { hearCaller } from "../nodes/hear-caller.ts";
import { storedTextOf } from "../api/parsed-elsewhere.ts";
import type { Context } from "../api/trpc.ts";
import { announcedIn, checkAnnounced, checkObjects } from "./manifest/check-manifest.ts";
import { placeToStore } from "../runs/place-of-row.ts";
import { joinAfter, pieceToStore } from "./join-step.ts";
import { originOf } from "../runs/origin-of.ts";
import { requirePiece } from "../runs/require-piece.ts";
import { requireSender } from "../runs/require-writer.ts";
import { checkSealed } from "./check-sealed.ts";
import { weighObjects } from "./manifest/weigh-objects.ts";
import { writeManifest } from "./manifest/write-manifest.ts";
import type { NodeCaller } from "../api/caller.ts";

/**
 * Commits a checkpoint, which makes it safe. The hub trusts nothing that the node submits. It compares every named object
 * with the bucket, writes the manifest under a key that no node is ever signed for, and reads it back. It answers after
 * recording the digest. The same manifest again gives the same answer; a different one for a complete checkpoint is refused.
 * A hub killed midway finds its own manifest and continues.
 */

interface Commit {
  hub: Hub;
  node: LiveNode;
  checkpoint: Checkpoint;
  manifest: Manifest;
  /** The manifest, byte for byte as it is stored. */
  text: string;
  sha256: string;
}

async function findAnnounced(hub: Hub, node: LiveNode, manifest: Manifest) {
  const found = await hub.db.checkpoint.findUnique({ where: { id: manifest.id }, include: { content: true } });
  if (found === null || found.content === null) {
    throw new Fault("NOT_FOUND", { op: "commit", subject: manifest.id, detail: "it was not announced" });
  }
  if (found.nodeId !== node.id) throw new Fault("NOT_THIS_NODES", { op: "commit", subject: manifest.id });
  return { checkpoint: found, files: announcedIn(found.content.files) };
}

async function recordComplete({ hub, node, checkpoint, manifest, text, sha256 }: Commit, key: string): Promise<void> {
  const now = hub.now();
  const { id, run, step } = manifest;
  const event = await hub.db.$transaction(async (tx) => {
    // Another node may have taken over while the objects were compared.
    await requireSender(tx, { run, epoch: manifest.writerEpoch, nodeId: node.id });
    const { state, manifestSha256 } = await tx.checkpoint.findUniqueOrThrow({ where: { id } });
    // Whoever reads the history of the run from the bucket may have found the manifest meanwhile.
    if (state === "complete" && manifestSha256 === sha256) return null;
    if (!mayBecome(state as CheckpointState, "complete")) throw new Fault("CONFLICT", { op: "commit", subject: id });
    await tx.checkpoint.update({
      where: { id },
      data: {
        state: "complete",
        framework: manifest.framework,
        place: placeToStore(manifest.place),
        doubt: manifest.doubt ?? null,
        piece: pieceToStore(manifest),
        metrics: JSON.stringify(manifest.metrics),
        sizeBytes: BigInt(manifest.sizeBytes),
        fileCount: manifest.files.length,
        capturedAt: new Date(manifest.capturedAt),
        committedAt: new Date(now),
        manifestKey: key,
        manifestSha256: sha256,
        sealKeyId: isSealed(manifest) ? manifest.transform.keyId : null,
        ...weighObjects(manifest.files, text),
      },
    });
    await tx.checkpointContent.update({ where: { checkpointId: id }, data: { manifest: text } });
    // An event with a step counts as one of a checkpoint, and neither a final model nor a piece is one.
    const ofStep = manifest.role === undefined && manifest.piece === undefined ? { step } : {};
    const what = manifest.role === "final-model" ? `the final model of ${run}` : `${stepText(step)} of ${run}`;
    const { doubt, piece } = manifest;
    const doubtful = doubt === undefined || piece !== undefined ? "" : ` as doubtful: ${visibleText(doubt)}`;
    const which = piece === undefined ? "" : `the piece of node ${piece.rank} of ${piece.of} of `;
    const line = `${piece === undefined ? "made" : "kept"} ${which}${what}${piece === undefined ? " safe" : ""} (${formatBytes(manifest.sizeBytes)} in ${checkpoint.bucket})${doubtful}`;
    return recordEvent(tx, {
      at: now,
      kind: "checkpoint-safe",
      work: piece !== undefined ? "moving" : doubt === undefined ? "safe" : "risk",
      node,
      run,
      ...ofStep,
      text: line,
    });
  });
  if (event === null) return;
  hub.counters.checkpointsCommitted++;
  hub.live.totals = { ...hub.live.totals, checkpointsComplete: hub.live.totals.checkpointsComplete + 1 };
  emit(hub, event, ["checkpoints", "runs", "profiles"]);
}

/**
 * Commits what a node uploaded and returns the SHA-256 of the stored manifest. @throws Fault NOT_FOUND, NOT_THIS_NODES,
 * EPOCH_OVER, CONFLICT, and those of `checkAnnounced`, `checkObjects`, the store
 */
export async function commit(
  { hub, caller }: Context & { caller: NodeCaller },
  { manifest }: { manifest: Manifest },
): Promise<{ sha256: string }> {
  const node = await hearCaller({ hub, caller });
  const { text, sha256 } = storedTextOf(manifest);
  return hub.locks.run(`commit ${manifest.id}`, async () => {
    const { checkpoint, files } = await findAnnounced(hub, node, manifest);
    // A checkpoint in the trash was complete too: the answer says so, and does not restore it.
    if (checkpoint.state === "complete" || checkpoint.state === "trashed" || checkpoint.state === "joined") {
      if (checkpoint.manifestSha256 === sha256) {
        if (manifest.piece !== undefined && checkpoint.state === "complete") await joinAfter(hub, manifest);
        return { sha256 };
      }
      throw new Fault("CONFLICT", { op: "commit", subject: manifest.id, detail: "it is complete with other content" });
    }
    await requireSender(hub.db, { run: checkpoint.run, epoch: checkpoint.writerEpoch, nodeId: node.id });
    await requirePiece(hub.db, manifest, node.id);
    const origin = await originOf(hub.db, { run: checkpoint.run, epoch: checkpoint.writerEpoch });
    const named = await checkSealed(hub, manifest, checkpoint);
    await checkAnnounced(named, { checkpoint, files, nodeName: node.name, ...origin });
    const store = await hub.stores.open(checkpoint.profileId);
    await checkObjects(store, manifest, checkpoint);
    const { bucket, prefix } = checkpoint;
    const key = await writeManifest(store, manifest, { bucket, prefix, text });
    await recordComplete({ hub, node, checkpoint, manifest, text, sha256 }, key);
    if (manifest.piece !== undefined) await joinAfter(hub, manifest);
    return { sha256 };
  });
}
