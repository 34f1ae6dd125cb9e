import { Fault } from "#protocol/faults/fault.ts";
import { jsonForm } from "./spool.ts";
import type { Entry, FileEntry, ObjectEntry } from "./entry.ts";

/** Serialized forms of entries in a spool. Paths and keys end with the relative name, so the name is stored once. */

type PackedFile = [
  relative: string,
  folder: string,
  sizeBytes: number,
  modifiedAtMs: number,
  changedAtMs: number,
  mtimeNs: string,
  ino: string,
  dev: string,
];
type PackedObject = [
  relative: string,
  prefix: string,
  sizeBytes: number,
  modifiedAtMs: number | null,
  etag: string | null,
  mayBeArchived?: true,
];

const nameOf = ({ relative }: Entry): string => relative;

const packFile = ({ relative, path, sizeBytes, modifiedAtMs, changedAtMs, identity }: FileEntry): PackedFile => {
  const folder = path.slice(0, path.length - relative.length);
  return [relative, folder, sizeBytes, modifiedAtMs, changedAtMs, identity.mtimeNs, identity.ino, identity.dev];
};

const unpackFile = ([
  relative,
  folder,
  sizeBytes,
  modifiedAtMs,
  changedAtMs,
  mtimeNs,
  ino,
  dev,
]: PackedFile): FileEntry => ({
  at: "local",
  relative,
  path: folder + relative,
  sizeBytes,
  modifiedAtMs,
  changedAtMs,
  identity: { dev, ino, sizeBytes, mtimeNs },
});

function packObject({ relative, key, sizeBytes, modifiedAtMs, etag, mayBeArchived }: ObjectEntry): PackedObject {
  const prefix = key.slice(0, key.length - relative.length);
  return mayBeArchived === true
    ? [relative, prefix, sizeBytes, modifiedAtMs, etag, true]
    : [relative, prefix, sizeBytes, modifiedAtMs, etag];
}

const unpackObject = ([relative, prefix, sizeBytes, modifiedAtMs, etag, mayBeArchived]: PackedObject): ObjectEntry => ({
  at: "store",
  relative,
  key: prefix + relative,
  sizeBytes,
  modifiedAtMs,
  etag,
  ...(mayBeArchived === true && { mayBeArchived }),
});

export const fileForm = jsonForm<FileEntry, PackedFile>({ nameOf, pack: packFile, unpack: unpackFile });
export const objectForm = jsonForm<ObjectEntry, PackedObject>({ nameOf, pack: packObject, unpack: unpackObject });
/** Form for entries of either kind. */
export const entryForm = jsonForm<Entry, { file: PackedFile } | { object: PackedObject }>({
  nameOf,
  pack: (entry) => (entry.at === "local" ? { file: packFile(entry) } : { object: packObject(entry) }),
  unpack: (packed) => ("file" in packed ? unpackFile(packed.file) : unpackObject(packed.object)),
});

/** Narrows an entry to an object. @throws Fault INTERNAL for a local file */
export function asObject(entry: Entry): ObjectEntry {
  if (entry.at !== "store") throw new Fault("INTERNAL", { op: "sync" });
  return entry;
}
