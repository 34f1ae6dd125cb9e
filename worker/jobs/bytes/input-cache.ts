import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import type { InputObject } from "#protocol/jobs/job-bytes.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { formatBytes } from "#protocol/base/units.ts";
import { unlinkOwned } from "../../base/disk/change-disk.ts";
import { diskFault } from "../../base/disk-fault.ts";
import { readRoom } from "../../base/room.ts";
import { readStateFile, writeStateFile } from "../../host/state-file.ts";

/**
 * Objects of inputs, kept in the work folder so that a later job does not fetch them again. An object is named by its bucket,
 * key, ETag and size, and marked by the time of its last change: one that a program wrote into has another time, and is fetched
 * again. Programs find links to the objects in their folders.
 */
export interface InputCache {
  /** Returns the path of an object, there or not. */
  pathOf(profileId: string, object: InputObject): string;
  /** Returns whether an object is there as it was fetched, and notes that it is used. */
  has(path: string, sizeBytes: number): Promise<boolean>;
  /** Marks an object that was fetched and verified. */
  mark(path: string): Promise<void>;
  /** Creates the folders of the cache. @throws Fault FOLDER_UNWRITABLE, NO_SPACE */
  prepare(): Promise<void>;
  /** Notes which objects a job uses until `leave`, so that none of them is removed. */
  use(jobId: string, paths: readonly string[]): Promise<void>;
  leave(jobId: string): Promise<void>;
  /** Removes objects that no job uses, those unused for the longest time first, until this many bytes fit. @throws Fault NO_SPACE */
  makeRoom(neededBytes: number): Promise<void>;
  /** Returns whether a path lies in the cache. */
  isInside(path: string): boolean;
}

const uses = z.object({ names: z.array(z.string().regex(/^[0-9a-f]{64}$/)) });

/** Room on the disk that stays free, as a share of what is needed, and at least. */
const SPARE_SHARE = 0.05;
const SPARE_BYTES = 64 * 1024 * 1024;

/** Returns the time by which an object is marked, seconds: a moment of the year 2001 that its name decides. */
const markOf = (path: string): number => 978_307_200 + (parseInt(path.slice(-8), 16) % 31_536_000);

/** Opens the cache of a work folder. `part`: folder of it with the folders of jobs of this worker, one of several; null: the whole. */
export function openInputCache(workFolder: string, mostBytes: number | null, part: string | null = null): InputCache {
  const root = join(workFolder, ".inputs");
  const objects = join(root, "objects");
  const usesOf = (jobId: string) => join(root, "uses", part ?? "", `${jobId}.json`);

  const prepare = async () => {
    try {
      await mkdir(join(root, "uses", part ?? ""), { recursive: true, mode: 0o755 });
      await mkdir(objects, { recursive: true, mode: 0o755 });
    } catch (error) {
      throw diskFault(error, { op: "work", subject: root, otherwise: "FOLDER_UNWRITABLE" });
    }
  };
  const used = async (): Promise<Set<string>> => {
    const names = new Set<string>();
    for (const file of await readdir(join(root, "uses"), { recursive: true }).catch(() => [])) {
      if (!file.endsWith(".json")) continue;
      // A worker that was killed leaves the note; the folder of the job has the links.
      const isThere = await stat(join(workFolder, file.replace(/\.json$/, ""))).then(
        () => true,
        () => false,
      );
      const said = isThere ? await readStateFile(join(root, "uses", file), uses).catch(() => null) : null;
      for (const name of said?.names ?? []) names.add(name);
    }
    return names;
  };
  const list = async () => {
    const found: { path: string; sizeBytes: number; usedAtMs: number }[] = [];
    for (const part of await readdir(objects).catch(() => []))
      for (const name of await readdir(join(objects, part)).catch(() => [])) {
        if (!/^[0-9a-f]{64}$/.test(name)) continue;
        const path = join(objects, part, name);
        const stats = await stat(path).catch(() => null);
        if (stats !== null) found.push({ path, sizeBytes: stats.size, usedAtMs: stats.atimeMs });
      }
    return found.toSorted((a, b) => a.usedAtMs - b.usedAtMs);
  };
  return {
    pathOf: (profileId, { key, etag, sizeBytes }) => {
      const name = createHash("sha256")
        .update(JSON.stringify([profileId, key, etag, sizeBytes]))
        .digest("hex");
      return join(objects, name.slice(0, 2), name);
    },
    has: async (path, sizeBytes) => {
      const stats = await stat(path).catch(() => null);
      if (stats === null || stats.size !== sizeBytes || stats.mtimeMs !== markOf(path) * 1_000) return false;
      await utimes(path, Date.now() / 1_000, markOf(path)).catch(() => undefined);
      return true;
    },
    mark: async (path) => {
      await chmod(path, 0o444);
      await utimes(path, Date.now() / 1_000, markOf(path));
    },
    prepare,
    use: async (jobId, paths) => {
      await prepare();
      try {
        await writeStateFile(usesOf(jobId), { names: paths.map((path) => path.slice(-64)) });
      } catch (error) {
        throw diskFault(error, { op: "work", subject: root, otherwise: "FOLDER_UNWRITABLE" });
      }
    },
    leave: (jobId) => unlinkOwned("input-cache", usesOf(jobId)).catch(() => undefined),
    makeRoom: async (neededBytes) => {
      if (neededBytes === 0) return;
      const found = await list();
      const kept = await used();
      let total = found.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      let { freeBytes } = await readRoom(objects);
      const spare = Math.max(SPARE_BYTES, neededBytes * SPARE_SHARE);
      const fits = () => freeBytes >= neededBytes + spare && (mostBytes === null || total + neededBytes <= mostBytes);
      for (const { path, sizeBytes } of found) {
        if (fits()) return;
        if (kept.has(path.slice(-64))) continue;
        await unlinkOwned("input-cache", path);
        total -= sizeBytes;
        ({ freeBytes } = await readRoom(objects));
      }
      if (fits()) return;
      const limit = mostBytes === null ? "" : `, and --input-cache allows ${formatBytes(mostBytes)}`;
      const detail = `inputs of ${formatBytes(neededBytes)} have to be fetched, ${formatBytes(freeBytes)} are free${limit}`;
      throw new Fault("NO_SPACE", { op: "fetch inputs", subject: root, detail });
    },
    isInside: (path) => path.startsWith(`${root}/`),
  };
}
