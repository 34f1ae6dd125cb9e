import { realpath } from "node:fs/promises";
import { dirname, relative as relativeTo, resolve, sep } from "node:path";
import { Fault } from "#protocol/fault.ts";
import { assertSafePath, prefixForFolder } from "../copy/address.ts";
import { downloadFiles } from "../copy/download.ts";
import { uploadFiles } from "../copy/upload.ts";
import type { EarlyFetches } from "../copy/fetch-early.ts";
import { codeOf } from "../engine/disk-fault.ts";
import type { EarlyRanges } from "../engine/early-ranges.ts";
import { mapRows, type Rows } from "../listing/rows.ts";
import { setDate } from "../restore/put-in-place.ts";
import { createAskObject } from "./ask-object.ts";
import { assertDistinct, foldersAbove } from "./assert-distinct.ts";
import type { Bench } from "./bench.ts";
import { copyObjects } from "./copy-within.ts";
import { placeBelow, type Failure, type FileEntry, type ObjectEntry } from "./entries.ts";
import { collectFailures, follow } from "./follow.ts";
import { sweepUploads } from "./sweep-uploads.ts";
import { shownPlace, type LocalPlace, type StorePlace, type Verb } from "./verb.ts";
import { withJournal } from "./with-journal.ts";

/** The three ways files move, each with its progress, its journal and its list of failures. They give the exit code. */
export interface Ends<From, To> {
  from: From;
  to: To;
  /** Failures from before, such as files that could not be looked at. */
  failures: Failure[];
}

/** Files of a folder to keys below a prefix. Faults: HOSTILE_NAME before anything is sent, those of `uploadFiles`. */
export async function sendEntries(
  verb: Verb,
  bench: Bench,
  job: Ends<LocalPlace, StorePlace> & { entries: Rows<FileEntry>; keyOf: (entry: FileEntry) => string },
): Promise<number> {
  const { from, to, failures, entries } = job;
  // A name that is refused is refused before anything is sent.
  for (const entry of entries) job.keyOf(entry);
  const first = entries.at(0);
  const name = `up ${resolve(from.path)} ${to.bucket}/${to.key}`;
  const place = `s3://${to.bucket}/${first !== undefined && entries.length === 1 ? job.keyOf(first) : to.key}`;
  const count = entries.length + failures.length;
  return withJournal(verb, { bench, name, shown: `${from.path} -> ${place}` }, ({ journalPath }) =>
    follow(verb, { engine: bench.engine, from: from.path, to: place, failures, way: "across" }, (onStart) =>
      uploadFiles(bench.engine, {
        files: entries,
        keyOf: job.keyOf,
        journalPath,
        partBytes: verb.config.size("part-size"),
        sweep: (lost) => sweepUploads(bench, { ...lost, signal: verb.signal }),
        signal: verb.signal,
        onStart,
        onFileFailed: collectFailures(failures, { count, nameOf: (file) => file.path }),
      }),
    ),
  );
}

/** Names below a prefix as keys. @throws Fault HOSTILE_NAME */
export const keysBelow = (to: StorePlace) => (entry: { relative: string }) =>
  prefixForFolder(to) + assertSafePath(entry.relative);

/**
 * Names of objects as paths below a folder. A name that leads elsewhere, or two that would land on one file, are refused
 * before anything is written.
 * @throws Fault HOSTILE_NAME
 */
export async function pathsBelow(folder: string, entries: Rows<ObjectEntry>): Promise<(entry: ObjectEntry) => string> {
  const root = resolve(folder);
  for (const { relative } of entries) placeBelow(root, assertSafePath(relative));
  assertDistinct(mapRows(entries, ({ relative }) => relative));
  await assertNoWayOut(root, entries);
  return ({ relative }) => placeBelow(root, relative);
}

/** A link inside the folder may not carry a file out of it. */
async function assertNoWayOut(root: string, entries: Rows<ObjectEntry>): Promise<void> {
  const home = await realpath(root).catch(() => null);
  if (home === null) return;
  for (const folder of foldersOf(entries)) {
    const place = await realpath(`${root}${sep}${folder}`).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") return null;
      throw new Fault("FOLDER_UNWRITABLE", { op: "cp", subject: folder, cause: error });
    });
    if (place === null || place === home) continue;
    const way = relativeTo(home, place);
    if (way === ".." || way.startsWith(`..${sep}`)) {
      throw new Fault("HOSTILE_NAME", { op: "cp", subject: folder, detail: `a link there leads to ${place}` });
    }
  }
}

/** Remembered at a time; one that is looked at again is as it was. */
const MOST_FOLDERS = 4_096;

/** The folders of entries with those that they lie in. Of very many, some come more than once. */
function* foldersOf(entries: Iterable<ObjectEntry>): Generator<string> {
  const told = new Set<string>();
  for (const { relative } of entries) {
    const folder = dirname(relative);
    if (folder === "." || told.has(folder)) continue;
    if (told.size > MOST_FOLDERS) told.clear();
    for (const one of foldersAbove(relative)) {
      if (!told.has(one)) yield one;
      told.add(one);
    }
  }
}

/** Objects to paths. Their dates go along, so that a later sync knows them. Faults: those of `downloadFiles`. */
export async function fetchEntries(
  verb: Verb,
  bench: Bench,
  job: Ends<StorePlace, LocalPlace> & {
    entries: Rows<ObjectEntry>;
    pathOf: (entry: ObjectEntry) => string;
    early?: Pick<EarlyFetches, "take">;
    ranges?: EarlyRanges;
  },
): Promise<number> {
  const { from, to, failures, entries } = job;
  const name = `down ${from.bucket}/${from.key} ${resolve(to.path)}`;
  const collect = collectFailures<ObjectEntry>(failures, {
    count: entries.length + failures.length,
    nameOf: ({ key }) => key,
  });
  const shown = { engine: bench.engine, from: shownPlace(from), to: to.path, failures, way: "across" } as const;
  return withJournal(verb, { bench, name, shown: `${shown.from} -> ${to.path}` }, (journal) =>
    follow(verb, shown, (onStart) =>
      downloadFiles(bench.engine, {
        files: entries,
        pathOf: job.pathOf,
        ...journal,
        partBytes: verb.config.size("part-size"),
        ask: createAskObject(bench, verb.signal),
        ...(job.early === undefined ? {} : { early: job.early }),
        ...(job.ranges === undefined ? {} : { ranges: job.ranges }),
        ...(verb.config.isOn("checksum") ? { mostMd5Bytes: Infinity } : {}),
        signal: verb.signal,
        onStart,
        onLanded: async ({ modifiedAtMs }, path) => {
          if (modifiedAtMs !== null) await setDate(path, modifiedAtMs);
        },
        onFileFailed: collect,
      }),
    ),
  );
}

/** Objects to keys of the same store, without their bytes crossing the link. Faults: those of `copyObjects`. */
export async function copyEntries(
  verb: Verb,
  bench: Bench,
  job: Ends<StorePlace, StorePlace> & { entries: Rows<ObjectEntry>; keyOf: (entry: ObjectEntry) => string },
): Promise<number> {
  const { from, to, failures, entries } = job;
  // A name that is refused is refused before anything is copied.
  for (const entry of entries) job.keyOf(entry);
  const objects = mapRows(entries, (entry) => ({
    bucket: from.bucket,
    source: entry.key,
    key: job.keyOf(entry),
    sizeBytes: entry.sizeBytes,
    etag: entry.etag,
  }));
  const shown = { engine: bench.engine, from: shownPlace(from), to: shownPlace(to), failures, way: "within" } as const;
  return follow(verb, shown, (onStart) =>
    copyObjects(bench, {
      objects,
      signal: verb.signal,
      onStart,
      onFileFailed: collectFailures(failures, {
        count: objects.length + failures.length,
        nameOf: (object) => object.source,
      }),
    }),
  );
}
