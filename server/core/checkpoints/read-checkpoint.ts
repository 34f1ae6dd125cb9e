import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import type { CopyOffer } from "#protocol/wire/homes.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Unreadable } from "#storage/answers/archived-fault.ts";
import { offerCopies } from "../runs/offer-copies.ts";
import { profilesFor } from "../profiles/homes-of.ts";
import type { Hub } from "../api/hub.ts";
import { liveNodeOf } from "../nodes/live-node-of.ts";
import { createPauses } from "#server/platform/pauses.ts";
import { hashOf } from "#server/platform/random-id.ts";
import type { Context } from "../api/trpc.ts";
import { archivedObjects, refuseArchived } from "./refuse-archived.ts";
import { hasOpenCommand, mayRead, READING_KINDS } from "../runs/assigned.ts";
import { parseStored, readStored } from "./manifest/stored-manifest.ts";
import type { NodeCaller } from "../api/caller.ts";

interface Text {
  text: string | null;
  sha256: string | null;
}

/** Returns the manifest in another home; null where there is no complete copy. */
async function copyIn(hub: Hub, at: { checkpointId: string; profileId: string }): Promise<Text | null> {
  const where = { checkpointId_profileId: at };
  const copy = await hub.db.checkpointCopy.findUnique({
    where,
    select: { state: true, manifest: true, manifestSha256: true },
  });
  return copy?.state === "complete" ? { text: copy.manifest, sha256: copy.manifestSha256 } : null;
}

/**
 * Returns the committed manifest of a checkpoint that the node may restore, and the other copies, best first. The database is
 * the authority, not the object in the bucket. `profileId` selects the home; default: that of the checkpoint's row.
 * `asStored` keeps hidden names hidden, as a copy of the manifest needs them. `withArchived` returns the keys of archived
 * objects in place of a refusal, for a node that may need only some files. @throws Fault NOT_THIS_NODES,
 * CHECKPOINT_INCOMPLETE, CHECKSUM_MISMATCH, OBJECT_ARCHIVED, OBJECT_BEING_RESTORED
 */
export async function readCheckpoint(
  { hub, caller }: Context & { caller: NodeCaller },
  input: {
    checkpointId: string;
    profileId?: string | undefined;
    asStored?: boolean | undefined;
    withArchived?: boolean | undefined;
  },
): Promise<{
  manifest: StoredManifest;
  sha256: string;
  copies: CopyOffer[];
  archived?: readonly Unreadable[];
  doubt?: string;
}> {
  const node = liveNodeOf(hub, caller.nodeId);
  const { checkpointId, profileId, asStored = false } = input;
  const where = { id: checkpointId };
  const found = await hub.db.checkpoint.findUnique({ where, include: { content: true, adoption: true } });
  const mayTake = found !== null && (await profilesFor(hub.db, found)).has(node.profileId);
  if (found === null || !mayTake || !(await mayRead(hub.db, node, found))) {
    throw new Fault("NOT_THIS_NODES", { op: "readCheckpoint", subject: checkpointId });
  }
  const { content, adoption, ...checkpoint } = found;
  const own = { text: content?.manifest ?? null, sha256: found.manifestSha256 };
  const isElsewhere = profileId !== undefined && profileId !== found.profileId;
  const read = isElsewhere ? await copyIn(hub, { checkpointId, profileId }) : own;
  if (found.state !== "complete" || read === null || read.text === null || read.sha256 === null) {
    throw new Fault("CHECKPOINT_INCOMPLETE", { op: "readCheckpoint", subject: checkpointId });
  }
  const { text, sha256 } = read;
  // Reading and hashing ten megabytes block the event loop, so each is a slice of its own.
  await createPauses().take();
  if (hashOf(text) !== sha256) throw new Fault("CHECKSUM_MISMATCH", { op: "readCheckpoint", subject: checkpointId });
  await createPauses().take();
  const copies = await offerCopies(hub, { nodeId: node.id, checkpoint });
  const named = () => readStored({ manifest: text, files: content?.files ?? "[]" }, adoption?.sums ?? null);
  const manifest = await (asStored ? parseStored(text) : named());
  if (input.withArchived === true) {
    const archived = isElsewhere ? [] : await archivedObjects(hub, checkpoint, manifest);
    // It may have become doubtful after its commit.
    return { manifest, sha256, copies, archived, ...(found.doubt !== null && { doubt: found.doubt }) };
  }
  // A restore that a person asked for was checked when it was created, and may need only some of the files.
  const isAsked = await hasOpenCommand(hub.db, { nodeId: node.id, checkpointId, kinds: READING_KINDS });
  if (!isElsewhere && !isAsked) await refuseArchived(hub, checkpoint, { manifest, files: null });
  return { manifest, sha256, copies };
}
