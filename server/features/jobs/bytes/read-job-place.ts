import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { JobPlaceAnswer, readJobPlaceInput } from "#protocol/jobs/job-bytes.ts";
import { pathBelow } from "#protocol/jobs/job-places.ts";
import { listPage } from "#storage/s3/browse.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { liveNodeOf } from "#server/core/nodes/live-node-of.ts";
import { nodeStoreOf } from "#server/core/nodes/hello.ts";
import { openJobBucket } from "./job-bucket.ts";
import { findOwnAttempt } from "./lease-of.ts";
import { findOffered } from "./next-job.ts";

const PAGE = 1_000;

/**
 * Tells a node where an input or output of its job lies, and a page of the objects of an input. @throws Fault NODE_REVOKED,
 * NOT_THIS_NODES, SEAL_REQUIRED, those of the store
 */
export async function readJobPlace(
  { hub, caller }: Context & { caller: NodeCaller },
  input: z.infer<typeof readJobPlaceInput>,
): Promise<JobPlaceAnswer> {
  const node = liveNodeOf(hub, caller.nodeId);
  const open =
    input.attempt === null ? await findOffered(hub, caller, input.jobId) : await findOwnAttempt(hub, caller, input);
  const { part, from } = input;
  const { place, store, isOwn } = await openJobBucket(hub, open, { part, nodeProfileId: node.profileId });
  const told = await nodeStoreOf(hub, store.profileId);
  if (told === null) throw new Fault("NOT_FOUND", { subject: `the bucket profile of an ${part.kind}` });
  // A later attempt writes the same objects again.
  const answer = { store: { ...told, traits: { ...told.traits, conditionalWrites: false } }, next: null, objects: [] };
  if (part.kind === "output") return answer;
  const { bucket } = store.access;
  const asked = { bucket, prefix: place.prefix, delimiter: "", startAfter: null, limit: PAGE, mayName: true } as const;
  const page = await listPage(store.client, { ...asked, from });
  const [unreadable] = page.unreadable;
  if (unreadable !== undefined) {
    const detail = "its name is not valid UTF-8, so no request can ask for it";
    throw new Fault("HOSTILE_NAME", { op: "read an input", subject: unreadable, detail });
  }
  const objects = page.objects
    .filter(({ key }) => pathBelow(place.prefix, key) !== null && !isOwn(key))
    .map(({ key, sizeBytes, etag, modifiedAt }) => ({ key, sizeBytes, etag, modifiedAt }));
  return { ...answer, objects, next: page.next };
}
