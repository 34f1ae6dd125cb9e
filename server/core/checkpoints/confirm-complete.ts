import type * as z from "zod";
import { isAdopted, type StoredFile, type StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { isFault } from "#protocol/faults/fault.ts";
import type { confirmCompleteInput } from "#protocol/wire/hello.ts";
import { attemptPrefix, parseDataKey } from "#protocol/checkpoint/keys.ts";
import type { Hub } from "../api/hub.ts";
import { liveNodeOf } from "../nodes/live-node-of.ts";
import type { Context } from "../api/trpc.ts";
import { mayRead } from "../runs/assigned.ts";
import { compareObjects } from "./manifest/check-manifest.ts";
import { parseStored } from "./manifest/stored-manifest.ts";
import { createPauses } from "#server/platform/pauses.ts";
import type { NodeCaller } from "../api/caller.ts";

/**
 * Returns which of these checkpoints are complete in their bucket now: recorded so, not known to be damaged, every object
 * listed with its size. A node asks before it removes its own copy. Checkpoints that this node neither wrote nor may read are
 * left out, and so are those whose bucket does not answer. No faults.
 */
export async function confirmComplete(
  { hub, caller }: Context & { caller: NodeCaller },
  { checkpointIds }: z.infer<typeof confirmCompleteInput>,
): Promise<{ complete: string[] }> {
  const node = liveNodeOf(hub, caller.nodeId);
  const complete: string[] = [];
  for (const id of new Set(checkpointIds)) {
    // A changed checkpoint, or one whose bucket does not answer, must not fail the others.
    const isThere = await isComplete(hub, node, id).catch((error: unknown) => {
      if (isFault(error)) return false;
      throw error;
    });
    if (isThere) complete.push(id);
  }
  return { complete };
}

async function isComplete(hub: Hub, node: { id: string }, id: string): Promise<boolean> {
  const { db } = hub;
  const found = await db.checkpoint.findUnique({ where: { id }, include: { content: true } });
  if (found === null || found.content?.manifest == null) return false;
  if (found.nodeId !== node.id && !(await mayRead(db, node, found))) return false;
  // The objects of a joined piece are named by the joined checkpoint, so that one has to be complete.
  const { joinedId } = found;
  const named = joinedId === null ? found : await db.checkpoint.findUnique({ where: { id: joinedId } });
  if (named?.state !== "complete" || named.damagedAt !== null || found.damagedAt !== null) return false;
  const store = await hub.stores.open(found.profileId);
  const manifest = await parseStored(found.content.manifest);
  const files = filesOf(manifest);
  const prefixes = isAdopted(manifest) ? [manifest.origin.place] : await attemptsOf(found.prefix, files);
  await compareObjects(store, { files }, { bucket: found.bucket, prefixes });
  return true;
}

/** Returns the files to compare. In a joined checkpoint they include those that several nodes have under the same name. */
function filesOf(manifest: StoredManifest): StoredFile[] {
  if (isAdopted(manifest)) return manifest.files;
  return [...manifest.files, ...(manifest.joined?.pieces ?? []).flatMap(({ own }) => own ?? [])];
}

/** Returns the prefixes of the attempts that wrote the objects of these files; a joined checkpoint has one per piece. */
async function attemptsOf(prefix: string, files: readonly StoredFile[]): Promise<string[]> {
  const attempts = new Set<string>();
  const pauses = createPauses();
  for (const { extents } of files) {
    if (pauses.isDue()) await pauses.take();
    for (const { key } of extents) attempts.add(attemptPrefix(prefix, parseDataKey(prefix, key)));
  }
  return [...attempts];
}
