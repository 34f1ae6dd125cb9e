import { stat } from "node:fs/promises";
import { join, relative as relativeTo, resolve, sep } from "node:path";
import { Fault } from "#protocol/fault.ts";
import type { ObjectSum } from "#storage/crc32.ts";
import { listEarly, listObjects } from "../copy/list-objects.ts";
import type { ListedRow } from "../copy/listed-object.ts";
import { walkFolder } from "../copy/walk.ts";
import { diskFault } from "../engine/disk-fault.ts";
import type { FileIdentity } from "../engine/identity.ts";
import type { Bench } from "./bench.ts";
import type { Filter } from "./filter.ts";

/** What lies on one side of a copy, by its name relative to the side. */
export interface FileEntry {
  readonly at: "local";
  readonly relative: string;
  readonly sizeBytes: number;
  readonly modifiedAtMs: number;
  readonly path: string;
  readonly identity: FileIdentity;
}
export interface ObjectEntry {
  readonly at: "store";
  readonly relative: string;
  readonly sizeBytes: number;
  readonly modifiedAtMs: number | null;
  readonly key: string;
  readonly etag: string | null;
  /** What its bytes can be compared with, where a HEAD told it. */
  readonly checks?: { sum: ObjectSum | null; isOpaque: boolean };
}
export type Entry = FileEntry | ObjectEntry;

export interface Failure {
  name: string;
  fault: Fault;
}

export interface Side<E extends Entry = Entry> {
  /** What the filter takes, sorted by name. */
  taken: E[];
  /** Everything, by name. */
  all: ReadonlyMap<string, E>;
  /** What could not be looked at. */
  failures: Failure[];
}

function sideOf<E extends Entry>(entries: readonly E[], rest: { filter: Filter; failures: Failure[] }): Side<E> {
  const taken = entries.filter(rest.filter).sort((a, b) => (a.relative < b.relative ? -1 : 1));
  let all: ReadonlyMap<string, E> | null = null;
  return {
    taken,
    // Of a million files that is memory, and only those who compare sides need it.
    get all() {
      all ??= new Map(entries.map((entry) => [entry.relative, entry]));
      return all;
    },
    failures: rest.failures,
  };
}

/** The files below a folder; an absent folder is empty where `mayLack` says so. Faults: NOT_FOUND, READ_FAILED. */
export async function readFiles(
  folder: string,
  about: { filter: Filter; mayLack?: boolean },
): Promise<Side<FileEntry>> {
  const { filter } = about;
  const stats = await stat(folder).catch((error: unknown) => {
    const fault = diskFault(error, { op: "read", subject: folder, otherwise: "READ_FAILED" });
    if (fault.context.detail !== "ENOENT") throw fault;
    return null;
  });
  if (stats === null) {
    if (about.mayLack === true) return sideOf<FileEntry>([], { filter, failures: [] });
    throw new Fault("NOT_FOUND", { op: "read", subject: folder });
  }
  if (!stats.isDirectory()) throw new Fault("BAD_INPUT", { op: "usage", subject: folder, detail: "it is no folder" });
  const { files, failures } = await walkFolder(resolve(folder));
  return sideOf<FileEntry>(files, {
    filter,
    failures: failures.map(({ relative, fault }) => ({ name: relative, fault })),
  });
}

/**
 * The objects below a prefix, without the marks of empty folders. `onTaken` is shown those that the filter takes, as they
 * come, some of them twice. Faults: those of the listing.
 */
export async function readObjects(
  bench: Bench,
  about: { prefix: string; filter: Filter; signal: AbortSignal; onTaken?: (entries: ObjectEntry[]) => void },
): Promise<Side<ObjectEntry>> {
  const { prefix, filter, signal, onTaken } = about;
  const entriesOf = (objects: readonly ListedRow[]): ObjectEntry[] =>
    objects.filter(({ key }) => !key.endsWith("/") && key !== prefix);
  const onPage = (page: readonly ListedRow[]) => onTaken?.(entriesOf(page).filter(filter));
  const listed = await (onTaken === undefined
    ? listObjects(bench, { prefix, signal })
    : listEarly(bench, { prefix, signal, onPage }));
  return sideOf(entriesOf(listed), { filter, failures: [] });
}

const PLAIN_NAME = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/;

/** The place of an entry below a folder. @throws Fault HOSTILE_NAME when it would lie elsewhere. */
export function placeBelow(folder: string, relative: string): string {
  // Nothing in it means anything to a path, as in nearly all names.
  if (PLAIN_NAME.test(relative) && folder !== sep) return `${folder}${sep}${relative}`;
  const place = join(folder, relative);
  const way = relativeTo(folder, place);
  if (way === "" || way.startsWith("..") || way !== relative) {
    throw new Fault("HOSTILE_NAME", { subject: relative, detail: "it leads out of its folder" });
  }
  return place;
}
