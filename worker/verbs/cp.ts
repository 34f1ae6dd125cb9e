import type { BigIntStats } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { Fault } from "#protocol/fault.ts";
import { formatBytes } from "#protocol/units.ts";
import { readObjectSum } from "#storage/crc32.ts";
import { assertSafePath, keyForFile, prefixForFolder } from "../copy/address.ts";
import { isFolder } from "../copy/download.ts";
import { createEarlyFetches } from "../copy/fetch-early.ts";
import { foundFile } from "../copy/walk.ts";
import { createEarlyRanges } from "../engine/early-ranges.ts";
import { mapRows, type Rows } from "../listing/rows.ts";
import type { ScratchFile } from "../listing/scratch-file.ts";
import { warmAll, withBench, type Bench } from "./bench.ts";
import { writeObject } from "./cat.ts";
import { readFiles, readObjects, type Entry, type FileEntry, type ObjectEntry } from "./entries.ts";
import { readFilter, type Filter } from "./filter.ts";
import { sayFailures } from "./follow.ts";
import { findObject } from "./head.ts";
import { copyEntries, fetchEntries, keysBelow, pathsBelow, sendEntries } from "./move.ts";
import { sendStdin } from "./send-stdin.ts";
import { shownName, shownPlace, twoPlaces, usage, type LocalPlace, type StorePlace, type Verb } from "./verb.ts";
import { withScratch } from "./with-scratch.ts";

/**
 * `tidemark cp`: plain objects in any direction, with the keys of the environment. Speaks of no checkpoint.
 * Faults: BAD_INPUT, those of the store and the disk, CANCELLED.
 */
export async function copy(verb: Verb): Promise<number> {
  const { from, to } = twoPlaces(verb, "cp");
  if (from.kind === "local" && to.kind === "store") {
    return from.path === "-"
      ? sendStdin(verb, to)
      : withScratch(verb, (scratch) => upload(verb, { ends: { from, to }, scratch }));
  }
  if (from.kind === "store" && to.kind === "local") {
    return to.path === "-"
      ? writeObject(verb, from)
      : withScratch(verb, (scratch) => download(verb, { ends: { from, to }, scratch }));
  }
  if (from.kind === "store" && to.kind === "store") {
    return withScratch(verb, (scratch) => copyInside(verb, { ends: { from, to }, scratch }));
  }
  throw usage("cp", "both sides are local; at least one is s3://bucket/key");
}

interface Copying<From, To> {
  ends: { from: From; to: To };
  scratch: ScratchFile;
}

async function upload(verb: Verb, { ends, scratch }: Copying<LocalPlace, StorePlace>): Promise<number> {
  const { from, to } = ends;
  const stats = await stat(from.path, { bigint: true }).catch(() => null);
  if (stats === null) throw new Fault("NOT_FOUND", { op: "cp", subject: from.path });
  const isOne = !stats.isDirectory();
  const { taken, failures } = isOne
    ? { taken: [oneFile(resolve(from.path), stats)], failures: [] }
    : await readFiles(from.path, { filter: readFilter(verb.config, Date.now()), scratch });
  if (taken.length === 0 && failures.length === 0) {
    throw new Fault("NOT_FOUND", { op: "cp", subject: from.path, detail: "there are no files to copy" });
  }
  const below = keysBelow(to);
  const keyOf = isOne ? () => keyForFile(to, from.path) : below;
  if (isDry(verb)) {
    const planned = mapRows<FileEntry, Planned>(taken, (entry) => [entry, `s3://${to.bucket}/${keyOf(entry)}`]);
    return sayPlan(verb, planned) || sayFailures(verb, failures);
  }
  return withBench(verb, { bucket: to.bucket, direction: "up" }, (bench) =>
    sendEntries(verb, bench, { ...ends, failures, entries: taken, keyOf }),
  );
}

const oneFile = (path: string, stats: BigIntStats): FileEntry => ({
  at: "local",
  ...foundFile(dirname(path), basename(path), stats),
});

function download(verb: Verb, { ends, scratch }: Copying<StorePlace, LocalPlace>): Promise<number> {
  const { from, to } = ends;
  const filter = readFilter(verb.config, Date.now());
  return withBench(verb, { bucket: from.bucket, direction: "down" }, async (bench) => {
    const ranges = createEarlyRanges(bench.engine, { key: from.key, signal: verb.signal });
    // Only a key can be one object.
    const mayBeOne = from.key !== "" && !from.key.endsWith("/") && !isDry(verb);
    warmAll(bench, mayBeOne ? ranges.begin : undefined);
    const early = createEarlyFetches(bench.engine, verb.signal);
    try {
      const onTaken = isDry(verb) ? {} : { onTaken: early.offer };
      const found = await findSources(bench, { from, filter, scratch, signal: verb.signal, ...onTaken });
      if (!found.isOne) ranges.drop();
      const one = found.isOne ? await pathOfOne(to.path, from.key) : null;
      const pathOf = one === null ? await pathsBelow(to.path, found.entries) : () => one;
      if (isDry(verb))
        return sayPlan(
          verb,
          mapRows(found.entries, (entry) => [entry, pathOf(entry)]),
        );
      return await fetchEntries(verb, bench, { ...ends, failures: [], entries: found.entries, pathOf, early, ranges });
    } finally {
      ranges.drop();
      early.drop();
    }
  });
}

async function pathOfOne(target: string, key: string): Promise<string> {
  const to = resolve(target);
  return target.endsWith("/") || (await isFolder(to)) ? join(to, assertSafePath(basename(key))) : to;
}

function copyInside(verb: Verb, { ends, scratch }: Copying<StorePlace, StorePlace>): Promise<number> {
  const { from, to } = ends;
  const filter = readFilter(verb.config, Date.now());
  const { signal } = verb;
  return withBench(verb, { bucket: from.bucket, direction: "within" }, async (source) => {
    const { isOne, entries } = await findSources(source, { from, filter, scratch, signal });
    const below = keysBelow(to);
    const keyOf = isOne ? () => keyForFile(to, from.key) : below;
    for (const entry of from.bucket === to.bucket ? entries : []) {
      if (keyOf(entry) !== entry.key) continue;
      throw usage(`s3://${to.bucket}/${entry.key}`, "it would be copied onto itself");
    }
    if (isDry(verb))
      return sayPlan(
        verb,
        mapRows(entries, (entry) => [entry, `s3://${to.bucket}/${keyOf(entry)}`]),
      );
    return withBench(verb, { bucket: to.bucket, direction: "within" }, (bench) =>
      copyEntries(verb, bench, { ...ends, failures: [], entries, keyOf }),
    );
  });
}

/** One object of exactly this key, or else everything below it as a folder. Faults: NO_SUCH_KEY when there is neither. */
async function findSources(
  bench: Bench,
  about: {
    from: StorePlace;
    filter: Filter;
    scratch: ScratchFile;
    signal: AbortSignal;
    onTaken?: (entries: ObjectEntry[]) => void;
  },
): Promise<{ isOne: boolean; entries: Rows<ObjectEntry> }> {
  const { from, signal, ...rest } = about;
  const head = from.key === "" || from.key.endsWith("/") ? null : await findObject(bench, { key: from.key, signal });
  if (head !== null) {
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
    return { isOne: true, entries: [entry] };
  }
  const found = await readObjects(bench, { prefix: prefixForFolder(from), signal, ...rest });
  if (found.taken.length > 0) return { isOne: false, entries: found.taken };
  const detail = found.all.length === 0 ? {} : { detail: "the filters leave nothing of what is below it" };
  throw new Fault("NO_SUCH_KEY", { op: "cp", subject: shownPlace(from), ...detail });
}

const isDry = (verb: Verb): boolean => verb.config.isOn("dry-run");

type Planned = readonly [entry: Entry, to: string];

/** What a copy would do, a line for each file. */
function sayPlan(verb: Verb, planned: Iterable<Planned>): number {
  for (const [entry, to] of planned) {
    const from = entry.at === "local" ? entry.path : entry.key;
    verb.terminal.result(`copy  ${shownName(from)} -> ${shownName(to)}  (${formatBytes(entry.sizeBytes)})`, {
      type: "would",
      action: "copy",
      from,
      to,
      bytes: entry.sizeBytes,
    });
  }
  return 0;
}
