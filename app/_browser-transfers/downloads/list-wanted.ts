import { Fault } from "#protocol/faults/fault.ts";
import type { FolderFile, FolderPage, ObjectFacts } from "#protocol/buckets/browser-transfers.ts";
import { askHub } from "../ask-hub.ts";
import { hub } from "../../_hub/queries/client.ts";

/** Lists the files of a download and their sizes before any content is read. */

export type Wanted =
  | { kind: "object"; profileId: string; key: string }
  | { kind: "prefix"; profileId: string; prefix: string }
  /** Selection in the folder `from`: objects, and prefixes with everything below them. */
  | { kind: "chosen"; profileId: string; from: string; keys: readonly string[]; prefixes: readonly string[] }
  | { kind: "checkpoint"; checkpointId: string; name: string }
  | { kind: "checkpoint file"; checkpointId: string; path: string };

export interface ListedFiles {
  files: FolderFile[];
  /** Checksum that the store keeps of a single object. */
  kept: ObjectFacts["sum"];
  /** Names that no request can address. */
  unreadable: string[];
}

export interface FoundSum {
  objects: number;
  bytes: number;
}

export interface ListingWatch {
  signal?: AbortSignal;
  /** Called after each page of a listing with the sum of all files found so far. */
  onFound?: (sum: FoundSum) => void;
}

/** Keys per call: `FILES_PER_CALL` of the protocol, whose module would load zod. */
const KEYS_AT_ONCE = 50;

/** Returns the last name in a path; null at the top of a bucket. */
const lastName = (path: string): string | null => path.split("/").findLast((segment) => segment !== "") ?? null;

/** Returns a file name for the download. */
export function nameOf(wanted: Wanted): string {
  switch (wanted.kind) {
    case "object":
      return lastName(wanted.key) ?? "object";
    case "prefix":
      return `${lastName(wanted.prefix) ?? "bucket"}.tar`;
    case "chosen": {
      const { keys, prefixes, from } = wanted;
      const only = keys.length === 0 && prefixes.length === 1 ? prefixes[0] : undefined;
      return only === undefined ? `${lastName(from) ?? "bucket"}-selection.tar` : `${lastName(only) ?? "bucket"}.tar`;
    }
    case "checkpoint":
      return `${wanted.name}.tar`;
    case "checkpoint file":
      return lastName(wanted.path) ?? wanted.path;
  }
}

interface Below {
  profileId: string;
  prefix: string;
  /** Folder that paths are relative to. */
  from: string;
}

type Take = (files: readonly FolderFile[], unreadable: readonly string[]) => void;

async function listBelow({ profileId, prefix, from }: Below, signal: AbortSignal | undefined, take: Take) {
  const before = prefix.slice(0, prefix.lastIndexOf("/") + 1).slice(from.length);
  let cursor: string | null = null;
  do {
    signal?.throwIfAborted();
    const page: FolderPage = await askHub(hub.browserTransfers.folder.query({ profileId, prefix, cursor }));
    take(
      page.files.map((file) => ({ ...file, path: before + file.path })),
      page.unreadable,
    );
    ({ cursor } = page);
  } while (cursor !== null);
}

async function lookAt(profileId: string, keys: string[], from: string): Promise<ListedFiles> {
  const found = await askHub(hub.browserTransfers.lookAt.mutate({ profileId, keys }));
  const files = found.map(({ key, sizeBytes, etag, modifiedAt, sums }): FolderFile => {
    const known = sums.length > 0 ? sums : [{ offset: 0, length: sizeBytes, crc32: null }];
    const pieces = sizeBytes === 0 ? [] : known.map((one) => ({ key, etag, ...one }));
    return { path: key.slice(from.length), profileId, sizeBytes, modifiedAt, pieces };
  });
  return { files, kept: found.length === 1 ? (found[0]?.sum ?? null) : null, unreadable: [] };
}

async function listChosen(
  { profileId, from, keys, prefixes }: Extract<Wanted, { kind: "chosen" }>,
  { signal, onFound }: ListingWatch,
): Promise<ListedFiles> {
  // By path, because a selection can contain an object and its folder.
  const files = new Map<string, FolderFile>();
  const unreadable = new Set<string>();
  const sum: FoundSum = { objects: 0, bytes: 0 };
  const take: Take = (some, names) => {
    for (const file of some) {
      sum.bytes += file.sizeBytes - (files.get(file.path)?.sizeBytes ?? 0);
      files.set(file.path, file);
    }
    for (const name of names) unreadable.add(name);
    sum.objects = files.size;
    onFound?.({ ...sum });
  };
  for (let at = 0; at < keys.length; at += KEYS_AT_ONCE) {
    signal?.throwIfAborted();
    take((await lookAt(profileId, keys.slice(at, at + KEYS_AT_ONCE), from)).files, []);
  }
  for (const prefix of prefixes) await listBelow({ profileId, prefix, from }, signal, take);
  return { files: [...files.values()], kept: null, unreadable: [...unreadable] };
}

/** Lists the files of a download. @throws Fault NO_SUCH_KEY, those of the hub and the store; the signal's reason when aborted */
export async function listWanted(wanted: Wanted, watch: ListingWatch = {}): Promise<ListedFiles> {
  switch (wanted.kind) {
    case "object": {
      const { profileId, key } = wanted;
      const listed = await lookAt(profileId, [key], "");
      if (listed.files.length === 0) throw new Fault("NO_SUCH_KEY", { op: "download", subject: key });
      return listed;
    }
    case "checkpoint":
    case "checkpoint file": {
      const { checkpointId } = wanted;
      const path = wanted.kind === "checkpoint" ? {} : { path: wanted.path };
      const { files } = await askHub(hub.browserTransfers.folder.query({ checkpointId, ...path }));
      return { files, kept: null, unreadable: [] };
    }
    case "prefix": {
      const { profileId, prefix } = wanted;
      const from = prefix.slice(0, prefix.lastIndexOf("/") + 1);
      return listChosen({ kind: "chosen", profileId, from, keys: [], prefixes: [prefix] }, watch);
    }
    case "chosen":
      return listChosen(wanted, watch);
  }
}
