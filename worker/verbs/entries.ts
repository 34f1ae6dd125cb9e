import { stat } from "node:fs/promises";
import { join, relative as relativeTo, resolve, sep } from "node:path";
import { Fault } from "#protocol/fault.ts";
import type { ObjectSum } from "#storage/crc32.ts";
import { listEarly, listPages, type ListedObject } from "../copy/list-objects.ts";
import { walkFolder, type FoundFile } from "../copy/walk.ts";
import { diskFault } from "../engine/disk-fault.ts";
import { keepHeapSmall } from "../host/keep-heap-small.ts";
import type { Rows } from "../listing/rows.ts";
import type { ScratchFile } from "../listing/scratch-file.ts";
import { sortRows } from "../listing/sort-rows.ts";
import { Spool, type RowForm } from "../listing/spool.ts";
import type { Bench } from "./bench.ts";
import { fileForm, objectForm } from "./entry-forms.ts";
import type { Filter } from "./filter.ts";

/** What lies on one side of a copy, by its name relative to the side. */
export interface FileEntry extends FoundFile {
  readonly at: "local";
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

/** One side, its rows sorted by name. */
export interface Side<E extends Entry = Entry> {
  /** What the filter takes. */
  taken: Rows<E>;
  /** Everything. */
  all: Rows<E>;
  /** What could not be looked at. */
  failures: Failure[];
}

interface SideAbout<E extends Entry> {
  form: RowForm<E>;
  filter: Filter;
  scratch: ScratchFile;
}

/** The garbage of so many is felt beside the buffers. */
const MANY = 4_096;

/** A side that is still being listed. */
function beginSide<E extends Entry>(about: SideAbout<E>) {
  const { form, filter, scratch } = about;
  const all = new Spool(form, scratch);
  /** Null while the filter has taken everything. */
  let taken: Spool<E> | null = null;
  return {
    /** Whether the filter takes it. */
    add: (entry: E): boolean => {
      const isTaken = filter(entry);
      if (!isTaken && taken === null) {
        const before = new Spool(form, scratch);
        for (const one of all) before.add(one);
        taken = before;
      }
      all.add(entry);
      if (all.length === MANY) keepHeapSmall();
      if (isTaken) taken?.add(entry);
      return isTaken;
    },
    end: (failures: Failure[]): Side<E> => {
      const sorted = sortRows(all, about);
      return { taken: taken === null ? sorted : sortRows(taken, about), all: sorted, failures };
    },
  };
}

/** The files below a folder; an absent folder is empty where `mayLack` says so. Faults: NOT_FOUND, READ_FAILED. */
export async function readFiles(
  folder: string,
  about: { filter: Filter; scratch: ScratchFile; mayLack?: boolean },
): Promise<Side<FileEntry>> {
  const { filter, scratch } = about;
  const side = beginSide<FileEntry>({ form: fileForm, filter, scratch });
  const stats = await stat(folder).catch((error: unknown) => {
    const fault = diskFault(error, { op: "read", subject: folder, otherwise: "READ_FAILED" });
    if (fault.context.detail !== "ENOENT") throw fault;
    return null;
  });
  if (stats === null) {
    if (about.mayLack === true) return side.end([]);
    throw new Fault("NOT_FOUND", { op: "read", subject: folder });
  }
  if (!stats.isDirectory()) throw new Fault("BAD_INPUT", { op: "usage", subject: folder, detail: "it is no folder" });
  const leftOut = await walkFolder(resolve(folder), (file) => side.add({ at: "local", ...file }));
  return side.end(leftOut.map(({ relative, fault }) => ({ name: relative, fault })));
}

/**
 * The objects below a prefix, without the marks of empty folders. `onTaken` is shown those that the filter takes, as they
 * come, some of them twice. Faults: those of the listing.
 */
export async function readObjects(
  bench: Bench,
  about: {
    prefix: string;
    filter: Filter;
    scratch: ScratchFile;
    signal: AbortSignal;
    onTaken?: (entries: ObjectEntry[]) => void;
  },
): Promise<Side<ObjectEntry>> {
  const { prefix, filter, scratch, signal, onTaken } = about;
  const side = beginSide<ObjectEntry>({ form: objectForm, filter, scratch });
  const entriesOf = (objects: readonly ListedObject[]): ObjectEntry[] =>
    objects.flatMap((object) =>
      object.key.endsWith("/") || object.key === prefix
        ? []
        : [{ at: "store", relative: object.key.slice(prefix.length), ...object }],
    );
  if (onTaken === undefined) {
    for await (const { objects } of listPages(bench, { prefix, signal })) entriesOf(objects).forEach(side.add);
  } else {
    await listEarly(bench, {
      prefix,
      signal,
      onPeek: (objects) => onTaken(entriesOf(objects).filter(filter)),
      onPage: (objects) => onTaken(entriesOf(objects).filter(side.add)),
    });
  }
  return side.end([]);
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
