import type * as z from "zod";
import { ADOPTED_EPOCH, adoptedManifest, type AdoptedManifest, type adoptInput } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { RecognisedStep } from "#protocol/recognition/recognise.ts";
import type { ListedObject } from "#storage/s3/listing.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";

/** Pieces that are checksummed, fetched again and compared individually. */
const PIECE_BYTES = 64 * 1024 * 1024;
const MOST_PIECES = 10_000;

interface Found {
  input: z.infer<typeof adoptInput>;
  store: OpenStore;
  objects: readonly ListedObject[];
  judged: RecognisedStep;
  id: string;
  attempt: string;
  now: number;
}

/**
 * Returns the manifest of these objects: a file for each, in pieces without checksums, pinned to the ETag of the listing.
 * @throws Fault BAD_INPUT when a name cannot be a file's, or two would be the same file
 */
export function makeManifest({ input, store, objects, judged, id, attempt, now }: Found): AdoptedManifest {
  const { place, kind, run, step } = input;
  const files = objects.map((object) => ({
    path: kind === "file" ? (place.split("/").at(-1) ?? place) : object.key.slice(place.length),
    sizeBytes: object.sizeBytes,
    mtimeMs: object.modifiedAt,
    sha256: null,
    extents: piecesOf(object),
  }));
  const made = adoptedManifest.safeParse({
    format: "tidemark.adopted",
    version: 1,
    id,
    run,
    step,
    writerEpoch: ADOPTED_EPOCH,
    parent: null,
    attempt,
    node: null,
    framework: judged.framework,
    ...(judged.isWeightsOnly === true && { role: "final-model" }),
    metrics: {},
    capturedAt: Math.max(0, ...objects.map(({ modifiedAt }) => modifiedAt)),
    sizeBytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    homes: [{ profileId: store.profileId, bucket: store.access.bucket, prefix: store.prefix }],
    transform: { kind: "none" },
    origin: { place, kind, verdict: judged.verdict, reason: judged.reason.slice(0, 1024), adoptedAt: now },
    files,
  });
  if (made.success) return made.data;
  const [issue] = made.error.issues;
  const at = issue?.path[0] === "files" ? files[Number(issue.path[1])]?.path : undefined;
  throw new Fault("BAD_INPUT", { op: "adopt", subject: at ?? place, detail: issue?.message ?? "it is no checkpoint" });
}

function piecesOf({ key, sizeBytes, etag }: ListedObject) {
  const length = Math.max(PIECE_BYTES, Math.ceil(sizeBytes / MOST_PIECES));
  return Array.from({ length: Math.ceil(sizeBytes / length) }, (_, index) => ({
    key,
    offset: index * length,
    length: Math.min(length, sizeBytes - index * length),
    crc32: null,
    etag,
  }));
}
