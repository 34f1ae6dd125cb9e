import { getTRPCErrorFromUnknown } from "@trpc/server";
import type * as z from "zod";
import { ADOPTED_EPOCH, type AdoptedManifest, type adoptInput, isAdopted } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { RecognisedStep } from "#protocol/recognition/recognise.ts";
import type { ListedObject } from "#storage/s3/listing.ts";
import { faultDataOf } from "#server/core/api/trpc-error.ts";
import { parseStored } from "#server/core/checkpoints/manifest/stored-manifest.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";
import { writeJson } from "#server/platform/json-pieces.ts";
import { mapInSlices } from "#server/platform/pauses.ts";

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
 * Returns the manifest of these objects and its text: a file for each object, in pieces without checksums, pinned to the ETag of
 * the listing. The work for 50,000 files is done in slices and in a thread.
 * @throws Fault BAD_INPUT when a name cannot be a file's, or two would be the same file
 */
export async function makeManifest(found: Found): Promise<{ manifest: AdoptedManifest; text: string }> {
  const { input, store, objects, judged, id, attempt, now } = found;
  const { place, kind, run, step } = input;
  let [sizeBytes, capturedAt] = [0, 0];
  const files = await mapInSlices(objects, (object) => {
    sizeBytes += object.sizeBytes;
    capturedAt = Math.max(capturedAt, object.modifiedAt);
    return {
      path: kind === "file" ? (place.split("/").at(-1) ?? place) : object.key.slice(place.length),
      sizeBytes: object.sizeBytes,
      mtimeMs: object.modifiedAt,
      sha256: null,
      extents: piecesOf(object),
    };
  });
  const text = await writeJson({
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
    capturedAt,
    sizeBytes,
    homes: [{ profileId: store.profileId, bucket: store.access.bucket, prefix: store.prefix }],
    transform: { kind: "none" },
    origin: { place, kind, verdict: judged.verdict, reason: judged.reason.slice(0, 1024), adoptedAt: now },
    files,
  });
  const manifest = await parseStored(text).catch((error: unknown) => {
    throw refusalOf(error, { place, files });
  });
  if (!isAdopted(manifest)) throw new Fault("INTERNAL", { op: "adopt", detail: "a manifest was read as another kind" });
  return { manifest, text };
}

/** Returns the refusal of the schema, which ran here or in a thread, with the name of the refused file as its subject. */
function refusalOf(error: unknown, { place, files }: { place: string; files: readonly { path: string }[] }): Fault {
  const { code, subject = "", detail } = faultDataOf(getTRPCErrorFromUnknown(error));
  const index = /^files\.(\d+)/.exec(subject)?.[1];
  const name = index === undefined ? undefined : files[Number(index)]?.path;
  return new Fault(code, { op: "adopt", subject: name ?? place, ...(detail !== undefined && { detail }) });
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
