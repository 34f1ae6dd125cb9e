import type { Entry, FileEntry, ObjectEntry } from "./entry.ts";
import { stat } from "node:fs/promises";
import { join, relative as relativeTo, resolve, sep } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { countLeftOut, type LeftOut } from "./left-out.ts";
import { listEarly, listPages, type ListedObject, type ListedPage } from "./list-objects.ts";
import { walkFolder } from "./walk.ts";
import { diskFault } from "#worker/base/disk-fault.ts";
import { keepHeapSmall } from "#worker/host/keep-heap-small.ts";
import { createFolderFinder } from "./find-folders.ts";
import { numbered, pickRows, type Rows } from "#worker/base/rows.ts";
import type { ScratchFile } from "./scratch-file.ts";
import { sortRows } from "./sort-rows.ts";
import { Spool, type RowForm } from "./spool.ts";
import type { StoreSession } from "#worker/store-session/store-session.ts";
import { fileForm, objectForm } from "./entry-forms.ts";
import type { Filter } from "./filter.ts";

export interface Failure {
  name: string;
  fault: Fault;
}

/** Listing of one side of a copy, its rows sorted by name. */
export interface Side<E extends Entry = Entry> {
  /** Entries that the filter accepts. */
  taken: Rows<E>;
  /** All entries. */
  all: Rows<E>;
  /** Entries that could not be read, or whose names are impossible on the other side. */
  failures: Failure[];
  leftOut: readonly LeftOut[];
  /** Names at and below which there may be more than was listed. */
  unknown: ReadonlySet<string>;
  /** The names in `unknown` that are empty folders. */
  empty: ReadonlySet<string>;
}

interface SideAbout<E extends Entry> {
  form: RowForm<E>;
  filter: Filter;
  scratch: ScratchFile;
}

/** Number of entries above which the garbage of a listing is large in comparison with the buffers. */
const MANY = 4_096;

/** Begins a listing, to which entries are added one by one. */
function beginSide<E extends Entry>(about: SideAbout<E>) {
  const { form, filter, scratch } = about;
  const all = new Spool(form, scratch);
  /** Null while the filter has accepted every entry, so that one list serves for both. */
  let taken: Spool<E> | null = null;
  return {
    /** Adds an entry and tells whether the filter accepts it. */
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
    /** Ends the listing. `findLeft` returns names to leave out, which only the complete list shows. */
    end: (
      rest: Omit<Side<E>, "taken" | "all">,
      found: { left?: (sorted: Rows<E>) => ReadonlySet<string>; onTwin?: (entry: E) => void } = {},
    ): Side<E> => {
      const sorted = sortRows(all, about);
      const left = found.left?.(sorted) ?? new Set<string>();
      const clean = (rows: Spool<E>, onTwin?: (entry: E) => void) => onceSorted(rows, { left, onTwin });
      const clear = clean(sorted, found.onTwin);
      return { taken: taken === null ? clear : clean(sortRows(taken, about)), all: clear, ...rest };
    },
  };
}

/**
 * Returns sorted rows without the names in `left` and without repeated names, of which the last row stays. `onTwin` gets
 * each row that does not stay for that reason.
 */
export function onceSorted<E extends Entry>(
  sorted: Spool<E>,
  about: { left?: ReadonlySet<string>; onTwin?: ((entry: E) => void) | undefined } = {},
): Rows<E> {
  const { left = new Set<string>(), onTwin } = about;
  if (!sorted.hasTwins && left.size === 0) return sorted;
  const places: number[] = [];
  let before: E | null = null;
  for (const [index, entry] of numbered(sorted)) {
    if (left.has(entry.relative)) continue;
    if (before !== null && entry.relative === before.relative) {
      places.pop();
      onTwin?.(before);
    }
    before = entry;
    places.push(index);
  }
  return pickRows(sorted, places);
}

const NOTHING: Omit<Side, "taken" | "all"> = { failures: [], leftOut: [], unknown: new Set(), empty: new Set() };

/** Lists the files below a folder. With `mayLack`, a missing folder counts as empty. @throws Fault NOT_FOUND, READ_FAILED */
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
    if (about.mayLack === true) return side.end(NOTHING);
    throw new Fault("NOT_FOUND", { op: "read", subject: folder });
  }
  if (!stats.isDirectory()) throw new Fault("BAD_INPUT", { op: "usage", subject: folder, detail: "it is no folder" });
  const { failures, ...rest } = await walkFolder(resolve(folder), (file) => side.add({ at: "local", ...file }));
  return side.end({ ...rest, failures: failures.map(({ relative, fault }) => ({ name: relative, fault })) });
}

/** Tells whether an object is a folder marker: its key ends with a slash, or is the prefix itself. */
const isMark = ({ key }: ListedObject, prefix: string): boolean => key.endsWith("/") || key === prefix;

/**
 * Lists the objects below a prefix. Folder markers, which are empty objects, are left out: keys that end with a slash, and
 * keys that are also the folder of other keys. `onTaken` gets the objects that the filter accepts during the listing, some
 * of them twice. @throws Faults of the listing
 */
export async function readObjects(
  storeSession: StoreSession,
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
  const leftOut = countLeftOut();
  const failures: Failure[] = [];
  let hasEmpty = false;
  const entriesOf = (objects: readonly ListedObject[]): ObjectEntry[] =>
    objects.flatMap((object) =>
      isMark(object, prefix) ? [] : [{ at: "store", relative: object.key.slice(prefix.length), ...object }],
    );
  const addAll = ({ objects, unreadable, repeated }: ListedPage): ObjectEntry[] => {
    for (const name of repeated) leftOut.add("repeated", name);
    for (const object of objects) {
      if (!isMark(object, prefix)) continue;
      const fault = new Fault("HOSTILE_NAME", { op: "list", subject: object.key, detail: MARK_WITH_CONTENT });
      if (object.sizeBytes > 0) failures.push({ name: object.key, fault });
      else if (object.key !== prefix) leftOut.add("folder-mark", object.key);
    }
    failures.push(...unreadable.map(unreadableKey));
    return entriesOf(objects).filter((entry) => {
      if (entry.sizeBytes === 0) hasEmpty = true;
      return side.add(entry);
    });
  };
  if (onTaken === undefined) {
    for await (const page of listPages(storeSession, { prefix, signal })) addAll(page);
  } else {
    await listEarly(storeSession, {
      prefix,
      signal,
      onPeek: (objects) => onTaken(entriesOf(objects).filter(filter)),
      onPage: (page) => onTaken(addAll(page)),
    });
  }
  const left = (sorted: Rows<ObjectEntry>): ReadonlySet<string> => {
    const marks = hasEmpty ? marksIn(sorted) : new Set<string>();
    for (const name of marks) leftOut.add("folder-mark", prefix + name);
    return marks;
  };
  // The listing itself remembers its newest names only; the sorted list shows every repetition.
  return side.end(
    { ...NOTHING, failures, leftOut: leftOut.all },
    { left, onTwin: ({ key }) => leftOut.add("repeated", key) },
  );
}

/** Returns the names of empty objects that mark the folder of other objects: `model0` beside `model0/w.bin`. */
function marksIn(sorted: Rows<ObjectEntry>): Set<string> {
  const finder = createFolderFinder();
  for (const { relative } of sorted) finder.add(relative);
  const marks = new Set<string>();
  if (finder.found.size === 0) return marks;
  for (const { relative, sizeBytes } of sorted) {
    if (sizeBytes === 0 && finder.found.has(relative)) marks.add(relative);
  }
  return marks;
}

const MARK_WITH_CONTENT = "it ends with a slash, as the mark of a folder does, and has content";

/** Returns the failure for a listed key that no request can name. */
export const unreadableKey = (name: string): Failure => {
  const detail = "the key is not valid UTF-8, so it cannot be asked for";
  return { name, fault: new Fault("HOSTILE_NAME", { op: "list", subject: name, detail }) };
};

const PLAIN_NAME = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/;

/** Returns the path of an entry below a folder. @throws Fault HOSTILE_NAME when the path would leave the folder. */
export function placeBelow(folder: string, relative: string): string {
  // Fast path: nearly all names have no characters that are special in a path.
  if (PLAIN_NAME.test(relative) && folder !== sep) return `${folder}${sep}${relative}`;
  const place = join(folder, relative);
  const way = relativeTo(folder, place);
  if (way === "" || way === ".." || way.startsWith(`..${sep}`) || way !== relative) {
    throw new Fault("HOSTILE_NAME", { subject: relative, detail: "it leads out of its folder" });
  }
  return place;
}
