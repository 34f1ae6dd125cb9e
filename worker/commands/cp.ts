import type { BigIntStats } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { formatBytes } from "#protocol/base/units.ts";
import { readObjectSum } from "#storage/checksums/crc32.ts";
import { whyPathRefused } from "#protocol/base/names.ts";
import { keyForFile, prefixForFolder } from "../command-line/address.ts";
import { isFolder } from "../object-copy/download.ts";
import { createEarlyFetches } from "../object-copy/fetch-early.ts";
import { countLeftOut, sayLeftOut, type LeftOut } from "../object-copy/listing/left-out.ts";
import { foundFile } from "../object-copy/listing/walk.ts";
import { createEarlyRanges } from "../transfer/download/speculative-ranges.ts";
import { mapRows, type Rows } from "../base/rows.ts";
import type { ScratchFile } from "../object-copy/listing/scratch-file.ts";
import { warmAll, withStoreSession, type StoreSession } from "../store-session/store-session.ts";
import { writeObject } from "./cat.ts";
import { readFiles, readObjects, type Failure } from "../object-copy/listing/entries.ts";
import type { Entry, FileEntry, ObjectEntry } from "../object-copy/listing/entry.ts";
import { readFilter, type Filter } from "../object-copy/listing/filter.ts";
import { sayFailures, tellLeftOut } from "../object-copy/follow.ts";
import { assertReadable, findObject, headObject } from "../object-copy/requests/head.ts";
import { copyEntries, fetchEntries, sendEntries } from "../object-copy/move.ts";
import { placeAsKeys, placeAsPaths } from "../object-copy/listing/place-names.ts";
import { streamOf } from "../object-copy/requests/open-stream.ts";
import { assertNoMark, standsForFolder } from "../object-copy/requests/stands-for-folder.ts";
import { assertWholeKey, sendInput, stdinOf, type Stream } from "../object-copy/requests/send-stdin.ts";
import {
  shownName,
  shownPlace,
  twoPlaces,
  usage,
  type LocalPlace,
  type StorePlace,
  type CommandContext,
} from "../command-line/command-context.ts";
import { withScratch } from "../object-copy/listing/with-scratch.ts";

/**
 * Implements `tidemark cp`: copies plain objects in any direction with the keys of the environment. Knows nothing of
 * checkpoints. Faults: BAD_INPUT, those of the store and the disk, CANCELLED.
 */
export async function copy(context: CommandContext): Promise<number> {
  const { from, to } = twoPlaces(context, "cp");
  if (from.kind === "local" && to.kind === "store") {
    return from.path === "-"
      ? sendOnce(context, to, stdinOf(context))
      : withScratch(context, (scratch) => upload(context, { ends: { from, to }, scratch }));
  }
  if (from.kind === "store" && to.kind === "local") {
    return to.path === "-"
      ? writeToStdout(context, from)
      : withScratch(context, (scratch) => download(context, { ends: { from, to }, scratch }));
  }
  if (from.kind === "store" && to.kind === "store") {
    return withScratch(context, (scratch) => copyInside(context, { ends: { from, to }, scratch }));
  }
  throw usage("cp", "both sides are local; at least one is s3://bucket/key");
}

const FILTERED = "the filters leave nothing of what is below it";

interface Copying<From, To> {
  ends: { from: From; to: To };
  scratch: ScratchFile;
}

async function upload(context: CommandContext, { ends, scratch }: Copying<LocalPlace, StorePlace>): Promise<number> {
  const { from, to } = ends;
  const stats = await stat(from.path, { bigint: true }).catch(() => null);
  if (stats === null) throw new Fault("NOT_FOUND", { op: "cp", subject: from.path });
  const isOne = !stats.isDirectory();
  const stream = isOne ? await streamOf(from.path, stats) : null;
  if (stream !== null) return sendOnce(context, to, stream);
  const { all, taken, failures, leftOut } = isOne
    ? { all: [], taken: [oneFile(resolve(from.path), stats)], failures: [], leftOut: [] }
    : await readFiles(from.path, { filter: readFilter(context.config, Date.now()), scratch });
  if (taken.length === 0 && failures.length === 0) {
    const none = all.length === 0 ? "there are no files to copy" : FILTERED;
    const detail = [none, sayLeftOut(leftOut)].filter((part) => part !== "").join("; only ");
    throw new Fault("NOT_FOUND", { op: "cp", subject: from.path, detail });
  }
  const { entries, keyOf } = isOne
    ? { entries: taken, keyOf: () => keyForFile(to, from.path) }
    : placeAsKeys(to, taken, failures);
  if (isDry(context)) {
    const planned = mapRows<FileEntry, Planned>(entries, (entry) => [entry, `s3://${to.bucket}/${keyOf(entry)}`]);
    return sayPlan(context, { planned, failures, leftOut });
  }
  return withStoreSession(context, { bucket: to.bucket, direction: "up" }, (storeSession) =>
    sendEntries(context, storeSession, { ...ends, isOne, failures, leftOut, entries, keyOf }),
  );
}

/**
 * Sends a source that can be read only once. With --dry-run it is not opened, because reading would consume its bytes.
 */
async function sendOnce(context: CommandContext, to: StorePlace, stream: Stream): Promise<number> {
  if (!isDry(context)) return sendInput(context, { to, stream });
  assertWholeKey(to, stream);
  const place = shownPlace(to);
  context.terminal.result(`copy  ${shownName(stream.name)} -> ${shownName(place)}`, {
    type: "would",
    action: "copy",
    from: stream.from,
    to: place,
  });
  return 0;
}

/** Writes an object to stdout; with --dry-run adds only its size to the plan. */
function writeToStdout(context: CommandContext, from: StorePlace): Promise<number> {
  if (!isDry(context)) return writeObject(context, from);
  return withStoreSession(context, { bucket: from.bucket, direction: "down" }, async (storeSession) => {
    const { sizeBytes } = await headObject(storeSession, { key: from.key, signal: context.signal });
    await assertNoMark(storeSession, { key: from.key, sizeBytes, signal: context.signal });
    const place = shownPlace(from);
    context.terminal.result(`copy  ${shownName(place)} -> stdout  (${formatBytes(sizeBytes)})`, {
      type: "would",
      action: "copy",
      from: place,
      to: "-",
      bytes: sizeBytes,
    });
    return 0;
  });
}

const oneFile = (path: string, stats: BigIntStats): FileEntry => ({
  at: "local",
  ...foundFile(dirname(path), basename(path), stats),
});

function download(context: CommandContext, { ends, scratch }: Copying<StorePlace, LocalPlace>): Promise<number> {
  const { from, to } = ends;
  const filter = readFilter(context.config, Date.now());
  return withStoreSession(context, { bucket: from.bucket, direction: "down" }, async (storeSession) => {
    const ranges = createEarlyRanges(storeSession.engine, { key: from.key, signal: context.signal });
    // An operand without a key names no single object.
    const mayBeOne = from.key !== "" && !from.key.endsWith("/") && !isDry(context);
    warmAll(storeSession, mayBeOne ? ranges.begin : undefined);
    const early = createEarlyFetches(storeSession.engine, context.signal);
    try {
      const onTaken = isDry(context) ? {} : { onTaken: early.offer };
      const found = await findSources(storeSession, { from, filter, scratch, signal: context.signal, ...onTaken });
      if (!found.isOne) ranges.drop();
      const { isOne, failures, leftOut } = found;
      const one = isOne ? await pathOfOne(to.path, from.key) : null;
      const { entries, pathOf } =
        one === null
          ? await placeAsPaths(to.path, { entries: found.entries }, failures)
          : { entries: found.entries, pathOf: () => one };
      if (isDry(context)) {
        const planned = mapRows<ObjectEntry, Planned>(entries, (entry) => [entry, pathOf(entry)]);
        return sayPlan(context, { planned, failures, leftOut });
      }
      return await fetchEntries(context, storeSession, {
        ...ends,
        isOne,
        failures,
        leftOut,
        entries,
        pathOf,
        early,
        ranges,
      });
    } finally {
      ranges.drop();
      early.drop();
    }
  });
}

async function pathOfOne(target: string, key: string): Promise<string> {
  const to = resolve(target);
  if (!target.endsWith("/") && !(await isFolder(to))) return to;
  const why = whyPathRefused(basename(key));
  if (why !== null) throw new Fault("HOSTILE_NAME", { op: "cp", subject: key, detail: why });
  return join(to, basename(key));
}

function copyInside(context: CommandContext, { ends, scratch }: Copying<StorePlace, StorePlace>): Promise<number> {
  const { from, to } = ends;
  const filter = readFilter(context.config, Date.now());
  const { signal } = context;
  return withStoreSession(context, { bucket: from.bucket, direction: "within" }, async (source) => {
    const { isOne, failures, leftOut, ...found } = await findSources(source, { from, filter, scratch, signal });
    const { entries, keyOf } = isOne
      ? { entries: found.entries, keyOf: () => keyForFile(to, from.key) }
      : placeAsKeys(to, found.entries, failures);
    for (const entry of from.bucket === to.bucket ? entries : []) {
      if (keyOf(entry) !== entry.key) continue;
      throw usage(`s3://${to.bucket}/${entry.key}`, "it would be copied onto itself");
    }
    if (isDry(context)) {
      const planned = mapRows<ObjectEntry, Planned>(entries, (entry) => [entry, `s3://${to.bucket}/${keyOf(entry)}`]);
      return sayPlan(context, { planned, failures, leftOut });
    }
    return withStoreSession(context, { bucket: to.bucket, direction: "within" }, (storeSession) =>
      copyEntries(context, storeSession, { ...ends, isOne, failures, leftOut, entries, keyOf }),
    );
  });
}

/**
 * Returns the object with exactly this key, or else everything below it as a folder. An empty object that marks a
 * folder of the same name is ignored in favor of the folder. Faults: NO_SUCH_KEY when there is neither.
 */
async function findSources(
  storeSession: StoreSession,
  about: {
    from: StorePlace;
    filter: Filter;
    scratch: ScratchFile;
    signal: AbortSignal;
    onTaken?: (entries: ObjectEntry[]) => void;
  },
): Promise<{ isOne: boolean; entries: Rows<ObjectEntry>; failures: Failure[]; leftOut: readonly LeftOut[] }> {
  const { from, signal, ...rest } = about;
  const head =
    from.key === "" || from.key.endsWith("/") ? null : await findObject(storeSession, { key: from.key, signal });
  const isMark = head !== null && (await standsForFolder(storeSession, { key: from.key, ...head, signal }));
  if (head !== null && !isMark) {
    assertReadable(head, { op: "cp", key: from.key });
    const { sizeBytes, modifiedAtMs, etag, isOpaque } = head;
    const sum = head.crc32 === null ? null : readObjectSum(head.crc32);
    const entry: ObjectEntry = {
      at: "store",
      relative: basename(from.key),
      key: from.key,
      sizeBytes,
      modifiedAtMs,
      etag,
      checks: { sum, isOpaque },
    };
    return { isOne: true, entries: [entry], failures: [], leftOut: [] };
  }
  const found = await readObjects(storeSession, { prefix: prefixForFolder(from), signal, ...rest });
  const { taken, failures } = found;
  const skipped = countLeftOut(found.leftOut);
  if (isMark) skipped.add("folder-mark", from.key);
  const leftOut = skipped.all;
  if (taken.length > 0 || failures.length > 0) return { isOne: false, entries: taken, failures, leftOut };
  const detail = found.all.length === 0 ? {} : { detail: FILTERED };
  throw new Fault("NO_SUCH_KEY", { op: "cp", subject: shownPlace(from), ...detail });
}

const isDry = (context: CommandContext): boolean => context.config.isOn("dry-run");

type Planned = readonly [entry: Entry, to: string];

/** Prints what a copy would transfer and what it would skip, one line per file. Returns the exit code. */
function sayPlan(
  context: CommandContext,
  plan: { planned: Iterable<Planned>; failures: readonly Failure[]; leftOut: readonly LeftOut[] },
): number {
  for (const [entry, to] of plan.planned) {
    const from = entry.at === "local" ? entry.path : entry.key;
    context.terminal.result(`copy  ${shownName(from)} -> ${shownName(to)}  (${formatBytes(entry.sizeBytes)})`, {
      type: "would",
      action: "copy",
      from,
      to,
      bytes: entry.sizeBytes,
    });
  }
  tellLeftOut(context, plan.leftOut);
  return sayFailures(context, plan.failures);
}
