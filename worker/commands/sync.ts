import { resolve } from "node:path";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { foldsNames } from "../base/disk/folds-names.ts";
import type { Address } from "../command-line/address.ts";
import { stayingAtDst, withoutLeftOut, type LeftOut } from "../object-copy/listing/left-out.ts";
import { mapRows, type Rows } from "../base/rows.ts";
import { sortRows } from "../object-copy/listing/sort-rows.ts";
import { Spool } from "../object-copy/listing/spool.ts";
import { compareContent } from "../object-copy/listing/compare.ts";
import { deletionsOf, removeExtra, splitInWay } from "../object-copy/delete-extra.ts";
import type { Failure } from "../object-copy/listing/entries.ts";
import type { Entry, FileEntry } from "../object-copy/listing/entry.ts";
import { asObject, entryForm } from "../object-copy/listing/entry-forms.ts";
import { isRotatedLog, sayFailures, tellLeftOut } from "../object-copy/follow.ts";
import { copyEntries, fetchEntries, sendEntries } from "../object-copy/move.ts";
import { withSides, type Sides } from "../object-copy/listing/open-sides.ts";
import { pairUp, type Pair, type Paired } from "../object-copy/listing/pair-up.ts";
import { placeAsKeys, placeAsPaths } from "../object-copy/listing/place-names.ts";
import { EXIT, shownName, shownPlace, twoPlaces, usage, type CommandContext } from "../command-line/command-context.ts";

/**
 * Implements `tidemark sync`: makes DST equal to SRC. Copies a file that is missing at DST or differs in size or
 * contents. Contents are compared by the store's checksum, unless the dates show that nothing changed since the last
 * sync (--checksum: always); without a checksum the file is copied. Only --delete removes files, and only when SRC is
 * not empty and every copy succeeded. Files of DST stay where SRC or DST could not be listed completely, and --delete
 * names them. Faults: BAD_INPUT, NOT_FOUND, those of the store and the disk, CANCELLED.
 */
export function sync(context: CommandContext): Promise<number> {
  const ends = twoPlaces(context, "sync");
  return withSides(context, ends, async (sides) => {
    const paired = pairUp(sides.from, sides.to);
    const failures = [...sides.from.failures];
    const staying = context.config.isOn("delete") ? stayingAtDst(sides.to.leftOut) : [];
    // DST still has them, so it differs from SRC.
    if (context.config.isOn("delete")) failures.push(...sides.to.failures);
    const leftOut = [...sides.from.leftOut, ...staying];
    const found = await copiesOf(context, { sides, paired, failures });
    const toDelete = await deletionsOf(context, {
      sides,
      paired,
      foldsNames: async () => ends.to.kind === "local" && foldsNames(resolve(ends.to.path)),
    });
    const { toCopy, move } = await placed(context, { ends, sides, found, failures, leftOut });
    const { first, rest } = splitInWay({ to: ends.to, scratch: sides.scratch }, { toCopy, toDelete });
    if (context.config.isOn("dry-run")) {
      tellLeftOut(context, leftOut);
      return sayPlan(context, { toCopy, toDelete, failures });
    }
    if (toCopy.length === 0 && toDelete.length === 0) {
      const code = sayFailures(context, failures);
      const places = `${shownName(shownPlace(ends.from))} -> ${shownName(shownPlace(ends.to))}`;
      const failed = failures.length === 0 ? "" : `, ${formatCount(failures.length)} failed`;
      const { all, taken } = sides.from;
      const filtered = `the filters leave nothing of the ${said(all)} of SRC`;
      const why = all.length === 0 ? "SRC holds no file" : taken.length === 0 ? filtered : said(taken);
      context.terminal.result(`${places}: nothing to do, ${why}${failed}${withoutLeftOut(leftOut)}`, {
        type: "done",
        files: 0,
        bytes: 0,
        same: sides.from.taken.length,
        deleted: 0,
        filesFailed: failures.length,
        leftOut,
      });
      return code;
    }
    // Names of SRC that are impossible at DST, or were not listed, do not protect objects that SRC certainly lacks.
    const before = failures.length;
    const remove = (entries: Rows<Entry>) =>
      removeExtra(context, { to: ends.to, storeSession: sides.storeSessions.to, entries, staying });
    const made = first.length === 0 ? EXIT.ok : await remove(first);
    if (toCopy.length === 0) tellLeftOut(context, leftOut);
    const code = (toCopy.length === 0 ? sayFailures(context, failures) : await move()) || made;
    if (rest.length === 0) return code;
    if (failures.slice(before).some((failure) => !isRotatedLog(failure))) {
      context.terminal.say("Nothing was removed, because not everything could be copied.", { type: "kept" });
      return code;
    }
    return (await remove(rest)) || code;
  });
}

function said(entries: Rows<Entry>): string {
  let bytes = 0;
  for (const { sizeBytes } of entries) bytes += sizeBytes;
  return `${formatCount(entries.length)} files (${formatBytes(bytes)})`;
}

/** Coarsest rounding of dates by a common file system: FAT rounds to 2 s. */
const SAME_DATE_MS = 2_000;
const WIDTH = 16;

/** Returns the files that DST lacks or that differ there. */
async function copiesOf(
  context: CommandContext,
  about: { sides: Sides; paired: Paired; failures: Failure[] },
): Promise<Rows<Entry>> {
  const { config, signal } = context;
  const { sides, paired, failures } = about;
  const [always, sizeOnly] = [config.isOn("checksum"), config.isOn("size-only")];
  if (always && sizeOnly) throw usage("--checksum", "it contradicts --size-only");
  const { scratch } = sides;
  const copies = new Spool(entryForm, scratch);
  for (const entry of paired.onlyFrom) copies.add(entry);
  await forEachOf(paired.both, WIDTH, async (pair) => {
    try {
      if (pair.from.sizeBytes === pair.to.sizeBytes) {
        if (sizeOnly || (!always && isUntouched(pair, sides.storeSessions.to?.aheadMs() ?? 0))) return;
        if ((await compareContent({ ...pair, storeSessions: sides.storeSessions, signal })) === "same") return;
      }
      copies.add(pair.from);
    } catch (error) {
      if (signal.aborted || (isFault(error) && error.retry !== "never")) throw error;
      failures.push({ name: pair.from.relative, fault: toFault(error) });
    }
  });
  return sortRows(copies, { form: entryForm, scratch });
}

/**
 * Returns whether the dates show that neither file changed since one was copied from the other. `aheadMs`: how far the
 * store's clock is ahead of this machine's. The later of a file's mtime and ctime counts, because a copy may keep an
 * older mtime.
 */
function isUntouched({ from, to }: Pair, aheadMs: number): boolean {
  if (from.modifiedAtMs === null || to.modifiedAtMs === null) return false;
  // An object has the time of its upload; a file that is older has not changed since.
  if (from.at === "local") return Math.max(from.modifiedAtMs, from.changedAtMs) + aheadMs <= to.modifiedAtMs;
  // A downloaded file gets the date of its object.
  if (to.at === "local") return Math.abs(from.modifiedAtMs - to.modifiedAtMs) < SAME_DATE_MS;
  return false;
}

function sayPlan(
  context: CommandContext,
  plan: { toCopy: Rows<Entry>; toDelete: Rows<Entry>; failures: readonly Failure[] },
): number {
  const { terminal } = context;
  const say = (action: "copy" | "delete", { relative: name, sizeBytes: bytes }: Entry) =>
    terminal.result(`${action}  ${shownName(name)}  (${formatBytes(bytes)})`, { type: "would", action, name, bytes });
  for (const entry of plan.toCopy) say("copy", entry);
  for (const entry of plan.toDelete) say("delete", entry);
  terminal.say(`Would copy ${said(plan.toCopy)} and remove ${said(plan.toDelete)}.`, { type: "planned" });
  return sayFailures(context, plan.failures);
}

function asFile(entry: Entry): FileEntry {
  if (entry.at !== "local") throw new Fault("INTERNAL", { op: "sync" });
  return entry;
}

/** Returns the files whose names can exist at DST, with the transfer of each. Adds the others to the failures. */
async function placed(
  context: CommandContext,
  about: {
    ends: { from: Address; to: Address };
    sides: Sides;
    found: Rows<Entry>;
    failures: Failure[];
    leftOut: readonly LeftOut[];
  },
): Promise<{ toCopy: Rows<Entry>; move: () => Promise<number> }> {
  const { sides, found, failures, leftOut } = about;
  const { from, to } = about.ends;
  const { storeSessions } = sides;
  const [source, target] = [storeSessions.from, storeSessions.to];
  if (from.kind === "local" && to.kind === "store" && target !== null) {
    const { entries, keyOf } = placeAsKeys(to, mapRows(found, asFile), failures);
    return {
      toCopy: entries,
      move: () => sendEntries(context, target, { from, to, isOne: false, failures, leftOut, entries, keyOf }),
    };
  }
  const objects = mapRows(found, asObject);
  if (from.kind === "store" && to.kind === "local" && source !== null) {
    const { entries, pathOf } = await placeAsPaths(to.path, { entries: objects, among: sides.from.taken }, failures);
    return {
      toCopy: entries,
      move: () => fetchEntries(context, source, { from, to, isOne: false, failures, leftOut, entries, pathOf }),
    };
  }
  if (from.kind === "store" && to.kind === "store" && target !== null) {
    const { entries, keyOf } = placeAsKeys(to, objects, failures);
    return {
      toCopy: entries,
      move: () => copyEntries(context, target, { from, to, isOne: false, failures, leftOut, entries, keyOf }),
    };
  }
  throw new Fault("INTERNAL", { op: "sync" });
}
