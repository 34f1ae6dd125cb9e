import { statSync, type Dirent, type Stats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { FileName } from "#protocol/recognition/checkpoint-file-names.ts";
import { askDisk, type DiskPace } from "#worker/base/ask-disk.ts";
import { fileTimes } from "#worker/base/file-times.ts";

/** The names in a folder, by kind. */
export interface Listing {
  changedMs: number;
  /** When it was read, and when the folder's present time was first seen, by our own clock. */
  readMs: number;
  sinceMs: number;
  /** Whether every later change gives the folder another time. */
  isLasting: boolean;
  folders: readonly string[];
  files: readonly string[];
  links: readonly string[];
  /** Files that may be a checkpoint; null until computed, because most folders have none. */
  saved: readonly { name: string; read: FileName }[] | null;
}

/** When a folder was changed, and the disk on which it lies. */
export interface FolderFacts {
  changedMs: number;
  dev: number;
}

/** A change within this time of the last one may leave the time of a folder as it was. */
const COARSE_CLOCK_MS = 2_000;

/**
 * Returns the names in a folder; those that were read before where its time shows that nothing changed. Rejects with the error
 * of the system.
 */
export async function listFolder(
  listings: Map<string, Listing>,
  folder: string,
  facts: FolderFacts | null = null,
): Promise<Listing> {
  const { changedMs, dev } = facts ?? factsOf(await stat(folder));
  const known = listings.get(folder);
  const isSame = known?.changedMs === changedMs;
  const listing = isSame && known.isLasting ? known : await readListing(folder, changedMs);
  if (isSame) listing.sinceMs = known.sinceMs;
  // A clock that is behind ours makes a present change look old, and the next change may get the same time.
  const changedAtMs = fileTimes.isRemote(String(dev), folder) ? listing.sinceMs : changedMs;
  listing.isLasting ||= listing.readMs - changedAtMs > COARSE_CLOCK_MS;
  listings.set(folder, listing);
  return listing;
}

async function readListing(folder: string, changedMs: number): Promise<Listing> {
  const readMs = Date.now();
  const entries = await readdir(folder, { withFileTypes: true });
  const named = (isIt: (entry: Dirent) => boolean) => entries.filter(isIt).map(({ name }) => name);
  return {
    changedMs,
    readMs,
    sinceMs: readMs,
    isLasting: false,
    folders: named((entry) => entry.isDirectory()),
    files: named((entry) => entry.isFile()),
    links: named((entry) => entry.isSymbolicLink()),
    saved: null,
  };
}

const factsOf = ({ mtimeMs, dev }: Stats): FolderFacts => ({ changedMs: mtimeMs, dev });

const pace: DiskPace = { later: 0 };

/** Returns when each of the folders in a folder was changed; null for one that is gone or may not be reached. No faults. */
export const factsOfFolders = (folder: string, names: readonly string[]): Promise<(FolderFacts | null)[]> =>
  askDisk(names, {
    pace,
    now: (name) => {
      try {
        return factsOf(statSync(join(folder, name)));
      } catch {
        return null;
      }
    },
    later: (name) => stat(join(folder, name)).then(factsOf, () => null),
  });
