import type { StoredFile } from "#protocol/checkpoint/adopted.ts";
import type { FilePage, listFilesInput } from "#protocol/wire/checkpoint-pages.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { CheckpointFileView } from "#protocol/wire/views.ts";
import type * as z from "zod";
import type { Hub } from "#server/core/api/hub.ts";
import { mapInSlices } from "#server/platform/pauses.ts";
import { announcedIn } from "./check-manifest.ts";
import { readStored } from "./stored-manifest.ts";

/**
 * Lists the files of a checkpoint for display. A manifest of 50,000 files is megabytes of text, so the last few stay parsed
 * in a cache. Its key contains the manifest's digest, so an entry never goes stale.
 */
const MOST_KEPT = 4;
const kept = new Map<string, readonly CheckpointFileView[]>();

const committedFile = ({ path, sizeBytes, extents }: StoredFile): CheckpointFileView => ({
  path,
  sizeBytes,
  // A file with one extent has that extent's checksum; several are not combined for display. An encrypted extent shows the
  // checksum of the stored bytes, which is not that of the file.
  crc32: extents.length === 1 && extents[0]?.stored?.crc32 !== extents[0]?.crc32 ? (extents[0]?.crc32 ?? null) : null,
  parts: extents.length,
});

/** Drops the cached files of a manifest after their names in the database changed. */
export function forgetFiles(manifestSha256: string | null): void {
  for (const version of kept.keys()) if (version.startsWith(`${manifestSha256} `)) kept.delete(version);
}

/** Returns all files in manifest order; without a manifest, the announced files. */
export async function filesOf(
  hub: Pick<Hub, "db">,
  checkpoint: { id: string; manifestSha256: string | null },
): Promise<readonly CheckpointFileView[]> {
  const { id: checkpointId, manifestSha256 } = checkpoint;
  const adoption = await hub.db.adoption.findUnique({
    where: { checkpointId },
    select: { summedAt: true, sums: true },
  });
  // Checksums of an external checkpoint are added later.
  const version = manifestSha256 === null ? null : `${manifestSha256} ${adoption?.summedAt?.getTime() ?? 0}`;
  const known = version === null ? undefined : kept.get(version);
  if (known !== undefined) return known;
  const content = await hub.db.checkpointContent.findUnique({ where: { checkpointId } });
  const text = content?.manifest ?? null;
  if (text === null) {
    return announcedIn(content?.files ?? "[]").map((file) => ({ ...file, crc32: null, parts: 0 }));
  }
  const stored = await readStored({ manifest: text, files: content?.files ?? "[]" }, adoption?.sums ?? null);
  const files = await mapInSlices(stored.files, committedFile);
  if (version !== null) {
    const oldest = kept.keys().next();
    if (kept.size >= MOST_KEPT && oldest.done !== true) kept.delete(oldest.value);
    kept.set(version, files);
  }
  return files;
}

/** Returns a page of the files that match. @throws Fault NOT_FOUND */
export async function listFiles(hub: Hub, input: z.infer<typeof listFilesInput>): Promise<FilePage> {
  const { checkpointId, words, sort, offset, limit } = input;
  const row = await hub.db.checkpoint.findUnique({
    where: { id: checkpointId },
    select: { id: true, manifestSha256: true },
  });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this checkpoint" });
  const all = await filesOf(hub, row);
  const wanted = words.toLowerCase();
  const fitting = wanted === "" ? all : all.filter(({ path }) => path.toLowerCase().includes(wanted));
  const byPath = (a: CheckpointFileView, b: CheckpointFileView) => (a.path < b.path ? -1 : 1);
  const sorted = fitting.toSorted(sort === "path" ? byPath : (a, b) => b.sizeBytes - a.sizeBytes || byPath(a, b));
  return {
    files: sorted.slice(offset, offset + limit),
    offset,
    matching: fitting.length,
    matchingBytes: fitting.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    total: all.length,
  };
}
