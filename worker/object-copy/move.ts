import { resolve } from "node:path";
import { downloadFiles } from "./download.ts";
import { countLeftOut, type LeftOut } from "./listing/left-out.ts";
import { uploadFiles } from "./upload.ts";
import type { EarlyFetches } from "./fetch-early.ts";
import type { EarlyRanges } from "../transfer/download/speculative-ranges.ts";
import { mapRows, type Rows } from "../base/rows.ts";
import { setDate } from "../base/disk/set-date.ts";
import { createAskObject } from "./requests/ask-object.ts";
import type { StoreSession } from "../store-session/store-session.ts";
import { copyObjects } from "./requests/copy-within.ts";
import type { Failure } from "./listing/entries.ts";
import type { FileEntry, ObjectEntry } from "./listing/entry.ts";
import { collectFailures, follow } from "./follow.ts";
import { sweepUploads } from "./requests/sweep-uploads.ts";
import { shownPlace, type LocalPlace, type StorePlace, type CommandContext } from "../command-line/command-context.ts";
import { withJournal } from "./with-journal.ts";

/** Both ends of a copy, and what is known before it starts. The functions below show progress and return the exit code. */
export interface Ends<From, To> {
  from: From;
  to: To;
  /** Failures of the listing, such as unreadable files. */
  failures: Failure[];
  leftOut: readonly LeftOut[];
  /** The source is one file or object that was named itself, not a folder. */
  isOne: boolean;
}

/** Uploads files of a folder to keys below a prefix. @throws Faults of `uploadFiles` */
export async function sendEntries(
  context: CommandContext,
  storeSession: StoreSession,
  job: Ends<LocalPlace, StorePlace> & { entries: Rows<FileEntry>; keyOf: (entry: FileEntry) => string },
): Promise<number> {
  const { from, to, failures, entries } = job;
  const leftOut = countLeftOut(job.leftOut);
  const grown = new Set<string>();
  const onGrown = ({ relative }: FileEntry) => {
    if (!grown.has(relative)) leftOut.add("grown", relative);
    grown.add(relative);
  };
  const first = entries.at(0);
  const name = `up ${resolve(from.path)} ${to.bucket}/${to.key}`;
  const place = `s3://${to.bucket}/${first !== undefined && entries.length === 1 ? job.keyOf(first) : to.key}`;
  return withJournal(context, { storeSession, name, shown: `${from.path} -> ${place}` }, ({ journalPath }) =>
    follow(
      context,
      { engine: storeSession.engine, from: from.path, to: place, failures, leftOut: leftOut.all, way: "across" },
      (onStart) =>
        uploadFiles(storeSession.engine, {
          files: entries,
          keyOf: job.keyOf,
          journalPath,
          partBytes: context.config.size("part-size"),
          sweep: (lost) => sweepUploads(storeSession, { ...lost, signal: context.signal }),
          signal: context.signal,
          onGrown,
          onStart,
          onFileFailed: collectFailures(failures, { isOne: job.isOne, nameOf: (file) => file.path }),
        }),
    ),
  );
}

/** Downloads objects to paths. Files get their objects' dates, for later syncs. @throws Faults of `downloadFiles` */
export async function fetchEntries(
  context: CommandContext,
  storeSession: StoreSession,
  job: Ends<StorePlace, LocalPlace> & {
    entries: Rows<ObjectEntry>;
    pathOf: (entry: ObjectEntry) => string;
    early?: Pick<EarlyFetches, "take">;
    ranges?: EarlyRanges;
  },
): Promise<number> {
  const { from, to, failures, leftOut, entries } = job;
  const name = `down ${from.bucket}/${from.key} ${resolve(to.path)}`;
  const collect = collectFailures<ObjectEntry>(failures, {
    isOne: job.isOne,
    nameOf: ({ key }) => key,
  });
  const shown = {
    engine: storeSession.engine,
    from: shownPlace(from),
    to: to.path,
    failures,
    leftOut,
    way: "across",
  } as const;
  return withJournal(context, { storeSession, name, shown: `${shown.from} -> ${to.path}` }, (journal) =>
    follow(context, shown, (onStart) =>
      downloadFiles(storeSession.engine, {
        files: entries,
        pathOf: job.pathOf,
        ...journal,
        partBytes: context.config.size("part-size"),
        ask: createAskObject(storeSession, context.signal),
        ...(job.early === undefined ? {} : { early: job.early }),
        ...(job.ranges === undefined ? {} : { ranges: job.ranges }),
        ...(context.config.isOn("checksum") ? { mostMd5Bytes: Infinity } : {}),
        signal: context.signal,
        onStart,
        onLanded: async ({ modifiedAtMs }, path) => {
          if (modifiedAtMs !== null) await setDate(path, modifiedAtMs);
        },
        onFileFailed: collect,
      }),
    ),
  );
}

/** Copies objects within a store, so that no bytes cross the link. @throws Faults of `copyObjects` */
export async function copyEntries(
  context: CommandContext,
  storeSession: StoreSession,
  job: Ends<StorePlace, StorePlace> & { entries: Rows<ObjectEntry>; keyOf: (entry: ObjectEntry) => string },
): Promise<number> {
  const { from, to, failures, leftOut, entries } = job;
  const objects = mapRows(entries, (entry) => ({
    bucket: from.bucket,
    source: entry.key,
    key: job.keyOf(entry),
    sizeBytes: entry.sizeBytes,
    etag: entry.etag,
    ...(entry.mayBeArchived === true && { mayBeArchived: entry.mayBeArchived }),
  }));
  const ends = { from: shownPlace(from), to: shownPlace(to) };
  return follow(context, { engine: storeSession.engine, ...ends, failures, leftOut, way: "within" }, (onStart) =>
    copyObjects(storeSession, {
      objects,
      signal: context.signal,
      onStart,
      onFileFailed: collectFailures(failures, {
        isOne: job.isOne,
        nameOf: (object) => object.source,
      }),
    }),
  );
}
