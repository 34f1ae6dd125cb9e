import type { AdoptedManifest } from "#protocol/checkpoint/adopted.ts";
import type { Transaction } from "#prisma/open.ts";
import { weighObjects } from "../manifest/weigh-objects.ts";
import type { OpenStore } from "../../api/ports/stores.ts";
import { writeJson } from "#server/platform/json-pieces.ts";
import { mapInSlices } from "#server/platform/pauses.ts";
import { ensureForeignNode } from "#server/core/live/foreign-node.ts";

/** Columns that describe a manifest's files. */
type FileColumns = { files: string } & ReturnType<typeof weighObjects>;

/** Makes the columns of a manifest's files, in slices. A transaction holds the database, so call it before one begins. */
export async function fileColumnsOf({ files }: AdoptedManifest, text: string): Promise<FileColumns> {
  const listed = await mapInSlices(files, ({ path, sizeBytes }) => ({ path, sizeBytes }));
  return { files: await writeJson(listed), ...weighObjects(files, text) };
}

interface Adopted {
  manifest: AdoptedManifest;
  /** The manifest, byte for byte as it is stored under `key`. */
  text: string;
  columns: FileColumns;
  key: string;
  sha256: string;
  store: OpenStore;
  /** Epoch ms. */
  now: number;
  by: string;
}

/** Records an external checkpoint whose manifest is in the bucket. The row of its run must exist. */
export async function recordAdoption(tx: Transaction, adopted: Adopted): Promise<void> {
  const { manifest, text, key, sha256, store, now, by } = adopted;
  const { files, ...weighed } = adopted.columns;
  const { id, run, attempt, origin } = manifest;
  const at = new Date(now);
  const nodeId = await ensureForeignNode(tx, { profileId: store.profileId, now });
  await tx.checkpoint.create({
    data: {
      id,
      run,
      step: BigInt(manifest.step),
      writerEpoch: manifest.writerEpoch,
      attempt,
      nodeId,
      profileId: store.profileId,
      bucket: store.access.bucket,
      prefix: store.prefix,
      state: "complete",
      framework: manifest.framework,
      role: manifest.role ?? null,
      metrics: JSON.stringify(manifest.metrics),
      fileCount: manifest.files.length,
      sizeBytes: BigInt(manifest.sizeBytes),
      capturedAt: new Date(manifest.capturedAt),
      announcedAt: at,
      committedAt: at,
      manifestKey: key,
      manifestSha256: sha256,
      ...weighed,
      content: { create: { files, manifest: text } },
      adoption: {
        create: {
          profileId: store.profileId,
          place: origin.place,
          verdict: origin.verdict,
          reason: origin.reason,
          adoptedAt: new Date(origin.adoptedAt),
          adoptedBy: by,
        },
      },
    },
  });
}
