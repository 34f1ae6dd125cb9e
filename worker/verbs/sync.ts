import { dirname, resolve } from "node:path";
import { Fault, isFault, toFault } from "#protocol/fault.ts";
import { forEachOf } from "#protocol/for-each-of.ts";
import { formatBytes, formatCount } from "#protocol/units.ts";
import { removeEmptyFolder, unlinkOwned } from "../disk/change-disk.ts";
import type { Address } from "../copy/address.ts";
import { diskFault } from "../engine/disk-fault.ts";
import { mapRows, type Rows } from "../listing/rows.ts";
import { sortRows } from "../listing/sort-rows.ts";
import { Spool } from "../listing/spool.ts";
import type { Bench } from "./bench.ts";
import { compareContent } from "./compare.ts";
import { deleteObjects } from "./delete-objects.ts";
import { placeBelow, type Entry, type Failure, type FileEntry, type ObjectEntry } from "./entries.ts";
import { entryForm } from "./entry-forms.ts";
import { sayFailures } from "./follow.ts";
import { copyEntries, fetchEntries, keysBelow, pathsBelow, sendEntries } from "./move.ts";
import { withSides, type Sides } from "./open-sides.ts";
import { pairUp, type Paired } from "./pair-up.ts";
import { EXIT, shownName, shownPlace, twoPlaces, usage, type Verb } from "./verb.ts";

/**
 * `tidemark sync`: DST is made to hold what SRC holds. A file is copied when it is missing, when its size differs, or when
 * its contents do. Contents are compared only where the dates do not already say that nothing changed since the last
 * sync (--checksum: always), by the checksum the store keeps; where it keeps none, the file is copied. Nothing is removed
 * without --delete, and nothing then either when anything of SRC could not be listed, copied, or SRC is empty.
 * Faults: BAD_INPUT, NOT_FOUND, those of the store and the disk, CANCELLED.
 */
export function sync(verb: Verb): Promise<number> {
  const ends = twoPlaces(verb, "sync");
  return withSides(verb, ends, async (sides) => {
    const paired = pairUp(sides.from, sides.to);
    const failures = [...sides.from.failures];
    const toCopy = await copiesOf(verb, { sides, paired, failures });
    const toDelete = deletionsOf(verb, { sides, paired });
    if (verb.config.isOn("dry-run")) return sayPlan(verb, { toCopy, toDelete, failures });
    if (toCopy.length === 0 && toDelete.length === 0 && failures.length === 0) {
      verb.terminal.result(
        `${shownPlace(ends.from)} -> ${shownPlace(ends.to)}: nothing to do, ${said(sides.from.taken)}`,
        {
          type: "done",
          files: 0,
          bytes: 0,
          same: sides.from.taken.length,
          deleted: 0,
        },
      );
      return EXIT.ok;
    }
    const code =
      toCopy.length === 0 ? sayFailures(verb, failures) : await move(verb, { ends, sides, toCopy, failures });
    if (toDelete.length === 0) return code;
    if (code !== EXIT.ok) {
      verb.terminal.say("Nothing was removed, because not everything could be copied.", { type: "kept" });
      return code;
    }
    return removeExtra(verb, { to: ends.to, bench: sides.benches.to, entries: toDelete });
  });
}

function said(entries: Rows<Entry>): string {
  let bytes = 0;
  for (const { sizeBytes } of entries) bytes += sizeBytes;
  return `${formatCount(entries.length)} files (${formatBytes(bytes)})`;
}

/** What the file systems of this world round a date to. */
const SAME_DATE_MS = 2_000;
const WIDTH = 16;

/** What DST lacks or has differently. */
async function copiesOf(
  verb: Verb,
  about: { sides: Sides; paired: Paired; failures: Failure[] },
): Promise<Rows<Entry>> {
  const { config, signal } = verb;
  const { sides, paired, failures } = about;
  const [always, sizeOnly] = [config.isOn("checksum"), config.isOn("size-only")];
  if (always && sizeOnly) throw usage("--checksum", "it contradicts --size-only");
  const { scratch } = sides;
  const copies = new Spool(entryForm, scratch);
  for (const entry of paired.onlyFrom) copies.add(entry);
  await forEachOf(paired.both, WIDTH, async (pair) => {
    try {
      if (pair.from.sizeBytes === pair.to.sizeBytes) {
        if (sizeOnly || (!always && isUntouched(pair.from, pair.to))) return;
        if ((await compareContent({ ...pair, benches: sides.benches, signal })) === "same") return;
      }
      copies.add(pair.from);
    } catch (error) {
      if (signal.aborted || (isFault(error) && error.retry !== "never")) throw error;
      failures.push({ name: pair.from.relative, fault: toFault(error) });
    }
  });
  return sortRows(copies, { form: entryForm, scratch });
}

/** Whether the dates say that nothing changed since the one was made from the other. */
function isUntouched(from: Entry, to: Entry): boolean {
  if (from.modifiedAtMs === null || to.modifiedAtMs === null) return false;
  // An object is dated when it was sent; a file that is older was sent as it is.
  if (from.at === "local") return from.modifiedAtMs <= to.modifiedAtMs;
  // A fetched file is given the date of its object.
  if (to.at === "local") return Math.abs(from.modifiedAtMs - to.modifiedAtMs) < SAME_DATE_MS;
  return false;
}

/** @throws Fault BAD_INPUT when removing so much, or from such a listing, is refused. */
function deletionsOf({ config }: Verb, { sides, paired }: { sides: Sides; paired: Paired }): Rows<Entry> {
  if (!config.isOn("delete")) return [];
  const extra = new Spool(entryForm, sides.scratch);
  for (const entry of paired.onlyTo) extra.add(entry);
  if (extra.length === 0) return [];
  const refuse = (detail: string) => new Fault("BAD_INPUT", { op: "sync", subject: "--delete", detail });
  const [failure] = sides.from.failures;
  if (failure !== undefined) {
    throw refuse(`SRC could not be listed completely (${shownName(failure.name)}), so nothing was copied or removed`);
  }
  if (sides.from.all.length === 0 && !config.isOn("allow-empty")) {
    throw refuse(`SRC is empty, so all of ${said(extra)} would be removed; if that is meant, add --allow-empty`);
  }
  const most = config.number("max-delete");
  if (most !== null && extra.length > most) {
    throw refuse(`${said(extra)} would be removed, which is more than --max-delete ${most}`);
  }
  return extra;
}

function sayPlan(
  verb: Verb,
  plan: { toCopy: Rows<Entry>; toDelete: Rows<Entry>; failures: readonly Failure[] },
): number {
  const { terminal } = verb;
  const say = (action: "copy" | "delete", { relative: name, sizeBytes: bytes }: Entry) =>
    terminal.result(`${action}  ${shownName(name)}  (${formatBytes(bytes)})`, { type: "would", action, name, bytes });
  for (const entry of plan.toCopy) say("copy", entry);
  for (const entry of plan.toDelete) say("delete", entry);
  terminal.say(`Would copy ${said(plan.toCopy)} and remove ${said(plan.toDelete)}.`, { type: "planned" });
  return sayFailures(verb, plan.failures);
}

function asFile(entry: Entry): FileEntry {
  if (entry.at !== "local") throw new Fault("INTERNAL", { op: "sync" });
  return entry;
}

function asObject(entry: Entry): ObjectEntry {
  if (entry.at !== "store") throw new Fault("INTERNAL", { op: "sync" });
  return entry;
}

async function move(
  verb: Verb,
  about: { ends: { from: Address; to: Address }; sides: Sides; toCopy: Rows<Entry>; failures: Failure[] },
): Promise<number> {
  const { sides, toCopy, failures } = about;
  const { from, to } = about.ends;
  const { benches } = sides;
  if (from.kind === "local" && to.kind === "store" && benches.to !== null) {
    const entries = mapRows(toCopy, asFile);
    return sendEntries(verb, benches.to, { from, to, failures, entries, keyOf: keysBelow(to) });
  }
  const entries = mapRows(toCopy, asObject);
  if (from.kind === "store" && to.kind === "local" && benches.from !== null) {
    const pathOf = await pathsBelow(to.path, entries);
    return fetchEntries(verb, benches.from, { from, to, failures, entries, pathOf });
  }
  if (from.kind === "store" && to.kind === "store" && benches.to !== null) {
    return copyEntries(verb, benches.to, { from, to, failures, entries, keyOf: keysBelow(to) });
  }
  throw new Fault("INTERNAL", { op: "sync" });
}

async function removeExtra(
  verb: Verb,
  about: { to: Address; bench: Bench | null; entries: Rows<Entry> },
): Promise<number> {
  const { to, bench, entries } = about;
  const { terminal, signal } = verb;
  const failures =
    to.kind === "local"
      ? await removeFiles(to.path, { entries, signal })
      : bench === null
        ? []
        : await deleteObjects(bench, {
            objects: mapRows(entries, asObject),
            signal,
            onDeleted: () => undefined,
          });
  const failed = sayFailures(verb, failures);
  terminal.result(`${shownPlace(to)}: ${formatCount(entries.length - failures.length)} files removed`, {
    type: "removed",
    deleted: entries.length - failures.length,
    filesFailed: failures.length,
  });
  return failed;
}

async function removeFiles(
  folder: string,
  about: { entries: Iterable<Entry>; signal: AbortSignal },
): Promise<Failure[]> {
  const root = resolve(folder);
  const failures: Failure[] = [];
  for (const { relative } of about.entries) {
    if (about.signal.aborted) throw new Fault("CANCELLED");
    const path = placeBelow(root, relative);
    try {
      await unlinkOwned("asked", path);
      // A folder that this left empty goes too; one that is not, stays.
      for (let at = dirname(path); at !== root && at.startsWith(root); at = dirname(at))
        await removeEmptyFolder("asked", at);
    } catch (error) {
      const fault = diskFault(error, { op: "rm", subject: path, otherwise: "WRITE_FAILED" });
      if (fault.context.detail !== "ENOTEMPTY") failures.push({ name: relative, fault });
    }
  }
  return failures;
}
