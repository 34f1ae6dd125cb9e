import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import type { LineBranch } from "#protocol/checkpoint/line-branch.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { attemptPrefix, parseDataKey } from "#protocol/checkpoint/keys.ts";
import { attemptId, runName } from "#protocol/base/names.ts";
import type { CaptureAnnouncement } from "#protocol/wire/reports.ts";
import { assertAllListed, takeListed, wantedObjects } from "#storage/manifest/wanted-objects.ts";
import { listObjects } from "#storage/s3/listing.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { createPauses } from "#server/platform/pauses.ts";
import type { OpenStore } from "../../api/ports/stores.ts";

/** Checks a manifest before the hub commits it. */

const refuse = (detail: string): Fault => new Fault("BAD_INPUT", { op: "commit", subject: "manifest", detail });
export type AnnouncedFiles = CaptureAnnouncement["files"];

/**
 * Parses announced files. No schema checks them again: the hub stored them after a check, and checking 50,000 names is slow.
 */
export const announcedIn = (text: string): AnnouncedFiles => JSON.parse(text) as AnnouncedFiles;

/** The checkpoint that an epoch started from, by its claim. */
export type Parent = Manifest["parent"];

/**
 * Checks that the manifest matches the announcement: the checkpoint, the parent of its epoch, the files, and keys of the
 * announced attempt only. Compares 50,000 files in slices. @throws Fault BAD_INPUT, NOT_THIS_NODES, SIZE_MISMATCH
 */
export async function checkAnnounced(
  manifest: Manifest,
  announced: {
    checkpoint: Checkpoint;
    files: AnnouncedFiles;
    nodeName: string;
    parent: Parent;
    branch: LineBranch | null;
  },
): Promise<void> {
  const { checkpoint } = announced;
  const same: [string, unknown, unknown][] = [
    ["run", manifest.run, checkpoint.run],
    ["step", manifest.step, Number(checkpoint.step)],
    ["role", manifest.role ?? null, checkpoint.role],
    ["epoch", manifest.writerEpoch, checkpoint.writerEpoch],
    ["attempt", manifest.attempt, checkpoint.attempt],
    ["node", manifest.node.id, checkpoint.nodeId],
    ["node name", manifest.node.name, announced.nodeName],
    ["parent", JSON.stringify(manifest.parent), JSON.stringify(announced.parent)],
    // A claim read from the bucket may have lost it.
    ["branch", JSON.stringify(manifest.branch ?? announced.branch), JSON.stringify(announced.branch)],
    ["homes", JSON.stringify(manifest.homes), JSON.stringify([homeOf(checkpoint)])],
  ];
  for (const [what, given, expected] of same) {
    if (given !== expected) throw refuse(`its ${what} is not what was announced`);
  }
  const sizes = new Map<string, number>(announced.files.map(({ path, sizeBytes }) => [path, sizeBytes]));
  if (manifest.files.length !== sizes.size) throw refuse("its files are not those that were announced");
  const own = prefixOf(checkpoint);
  const pauses = createPauses();
  for (const file of manifest.files) {
    if (pauses.isDue()) await pauses.take();
    const announcedBytes = sizes.get(file.path);
    if (announcedBytes === undefined) throw refuse(`${file.path} was not announced`);
    if (announcedBytes !== file.sizeBytes) throw new Fault("SIZE_MISMATCH", { op: "commit", subject: file.path });
    for (const { key } of file.extents) {
      parseDataKey(checkpoint.prefix, key);
      if (!key.startsWith(own)) throw new Fault("NOT_THIS_NODES", { op: "commit", subject: key });
    }
  }
}

const homeOf = ({ profileId, bucket, prefix }: Checkpoint) => ({ profileId, bucket, prefix });

/** Identifies the prefix of an attempt's objects. */
type AttemptAt = Pick<Checkpoint, "bucket" | "prefix" | "run" | "writerEpoch" | "attempt">;

const prefixOf = (checkpoint: AttemptAt): string =>
  attemptPrefix(checkpoint.prefix, {
    run: runName.parse(checkpoint.run),
    epoch: checkpoint.writerEpoch,
    attempt: attemptId.parse(checkpoint.attempt),
  });

/**
 * Checks that every named object is in the bucket with exactly the named size, and with the named ETag where the store's
 * ETags are stable. Lists the attempt's prefix once; objects that are not named do not matter. @throws Fault BAD_INPUT,
 * NO_SUCH_KEY, SIZE_MISMATCH, OBJECT_CHANGED, and the faults of the store
 */
export const checkObjects = (store: OpenStore, manifest: Manifest, checkpoint: AttemptAt): Promise<void> =>
  compareObjects(store, manifest, { bucket: checkpoint.bucket, prefixes: [prefixOf(checkpoint)] });

/** Does the same below the given prefixes, none of which is inside another. */
export async function compareObjects(
  store: OpenStore,
  manifest: Pick<StoredManifest, "files">,
  { bucket, prefixes }: { bucket: string; prefixes: readonly string[] },
): Promise<void> {
  const wanted = await wantedObjects(manifest, createPauses());
  if (wanted.size === 0) return;
  const { client, access } = store;
  const hasStableEtags = access.traits.trustEtag;
  for (const prefix of prefixes) {
    for await (const found of listObjects(client, { bucket, prefix })) takeListed(wanted, found, { hasStableEtags });
  }
  assertAllListed(wanted);
}
