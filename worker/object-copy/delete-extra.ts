import { dirname, resolve } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { foldName } from "#protocol/base/names.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { Address } from "../command-line/address.ts";
import { removeEmptyFolder, unlinkOwned } from "../base/disk/change-disk.ts";
import { diskFault } from "../base/disk-fault.ts";
import { mapRows, type Rows } from "../base/rows.ts";
import { Spool } from "./listing/spool.ts";
import type { StoreSession } from "../store-session/store-session.ts";
import { keptVersionsClause } from "#protocol/base/kept-versions.ts";
import { keepsVersions } from "./requests/bucket-versions.ts";
import { deleteObjects } from "./requests/delete-objects.ts";
import { placeBelow, type Failure, type Side } from "./listing/entries.ts";
import type { Entry } from "./listing/entry.ts";
import { asObject, entryForm } from "./listing/entry-forms.ts";
import { foldersAbove } from "./listing/find-twins.ts";
import { sayFailures } from "./follow.ts";
import { withoutLeftOut, type LeftOut } from "./listing/left-out.ts";
import type { Sides } from "./listing/open-sides.ts";
import type { Paired } from "./listing/pair-up.ts";
import { shownName, shownPlace, type CommandContext } from "../command-line/command-context.ts";

/**
 * Decides what `sync --delete` removes from DST. Files stay where SRC was not fully listed: behind a linked folder, in an
 * unreadable folder, or in an empty one, which may be a missing mount.
 */

/** Number of places in SRC that the message about kept files names. */
const NAMED = 3;

/**
 * Returns the entries of DST to remove. `foldsNames` tells whether DST takes names that differ only in case for one.
 * @throws Fault BAD_INPUT when SRC is empty, or more than --max-delete would go
 */
export async function deletionsOf(
  context: Pick<CommandContext, "config" | "terminal">,
  about: { sides: Pick<Sides, "scratch" | "from" | "to">; paired: Paired; foldsNames: () => Promise<boolean> },
): Promise<Rows<Entry>> {
  const { config, terminal } = context;
  const { sides, paired } = about;
  if (!config.isOn("delete")) return [];
  sayNotCompared(terminal, sides.to.failures);
  let extra = new Spool(entryForm, sides.scratch);
  const unknownOf = unknownIn(sides.from, config.isOn("delete-all") ? "all" : "what is known");
  const kept = { count: 0, behind: new Set<string>() };
  for (const entry of paired.onlyTo) {
    const behind = unknownOf(entry.relative);
    if (behind === null) extra.add(entry);
    else {
      kept.count++;
      if (kept.behind.size <= NAMED) kept.behind.add(behind);
    }
  }
  if (extra.length > 0 && (await about.foldsNames())) {
    // There the file of the extra name is the one that the copy wrote under the other name.
    const same = namesIn(sides.from.all, { like: extra });
    const others = new Spool(entryForm, sides.scratch);
    for (const entry of extra) if (!same.has(entry.relative)) others.add(entry);
    extra = others;
  }
  if (extra.length > 0) {
    const refuse = (detail: string) => new Fault("BAD_INPUT", { op: "sync", subject: "--delete", detail });
    if (sides.from.all.length === 0 && !config.isOn("delete-all")) {
      throw refuse(`SRC is empty, so all of ${said(extra)} would be removed; if that is meant, add --delete-all`);
    }
    const most = config.number("max-delete");
    if (most !== null && extra.length > most) {
      throw refuse(`${said(extra)} would be removed, which is more than --max-delete ${most}`);
    }
  }
  if (kept.count > 0) sayKept(terminal, kept);
  return extra;
}

/** Returns the names in `like` that differ from a name of `all` in case or accents alone. */
function namesIn(all: Iterable<Entry>, { like }: { like: Iterable<Entry> }): ReadonlySet<string> {
  const folded = new Map<string, string[]>();
  for (const { relative } of like) {
    const name = foldName(relative);
    folded.set(name, [...(folded.get(name) ?? []), relative]);
  }
  const found = new Set<string>();
  for (const { relative } of all) for (const name of folded.get(foldName(relative)) ?? []) found.add(name);
  return found;
}

/** Names what lies in DST and cannot be compared with SRC: it stays. */
function sayNotCompared(terminal: CommandContext["terminal"], failures: readonly Failure[]): void {
  if (failures.length === 0) return;
  const names = failures.slice(0, NAMED).map(({ name }) => name);
  const more = failures.length > NAMED ? ", …" : "";
  terminal.say(
    `Kept ${formatCount(failures.length)} of DST that cannot be compared with SRC, by name (${names.map(visibleText).join(", ")}${more}).`,
    { type: "kept", files: failures.length, names },
  );
}

/**
 * Splits deletions into `first`, local files in the way of a file or folder to be copied, and the rest. In a bucket no key
 * is in the way of another.
 */
export function splitInWay(
  { to, scratch }: { to: Address; scratch: Sides["scratch"] },
  { toCopy, toDelete }: { toCopy: Rows<Entry>; toDelete: Rows<Entry> },
): { first: Rows<Entry>; rest: Rows<Entry> } {
  const first = new Spool(entryForm, scratch);
  if (to.kind !== "local" || toDelete.length === 0) return { first, rest: toDelete };
  const names = new Set<string>();
  const folders = new Set<string>();
  for (const { relative } of toDelete) {
    names.add(relative);
    for (const above of foldersAbove(relative)) folders.add(above);
  }
  const roots = new Set<string>();
  for (const { relative } of toCopy) {
    if (folders.has(relative)) roots.add(relative);
    for (const above of foldersAbove(relative)) if (names.has(above)) roots.add(above);
  }
  if (roots.size === 0) return { first, rest: toDelete };
  const rest = new Spool(entryForm, scratch);
  for (const entry of toDelete) {
    const isInWay = [entry.relative, ...foldersAbove(entry.relative)].some((name) => roots.has(name));
    (isInWay ? first : rest).add(entry);
  }
  return { first, rest };
}

function sayKept(
  terminal: CommandContext["terminal"],
  { count, behind }: { count: number; behind: ReadonlySet<string> },
): void {
  const names = [...behind].slice(0, NAMED);
  const more = behind.size > NAMED ? ", …" : "";
  const files = `${formatCount(count)} ${count === 1 ? "file" : "files"} of DST`;
  terminal.say(
    `Kept ${files}: SRC was not looked into there, or is empty (${names.map(visibleText).join(", ")}${more}). What is below an empty folder is removed with --delete-all.`,
    { type: "kept", files: count, names },
  );
}

/** Makes a function that returns the name itself, or the folder above it, at which SRC was not fully listed; null if none. */
function unknownIn(from: Side, deletes: "all" | "what is known"): (relative: string) => string | null {
  const isUnknown = (name: string) => from.unknown.has(name) && !(deletes === "all" && from.empty.has(name));
  if (from.unknown.size === 0) return () => null;
  return (relative) => [...foldersAbove(relative), relative].find(isUnknown) ?? null;
}

function said(entries: Rows<Entry>): string {
  let bytes = 0;
  for (const { sizeBytes } of entries) bytes += sizeBytes;
  return `${formatCount(entries.length)} files (${formatBytes(bytes)})`;
}

/** Removes files of DST and reports how many. Returns the exit code. @throws Faults of the store, CANCELLED */
export async function removeExtra(
  context: CommandContext,
  about: { to: Address; storeSession: StoreSession | null; entries: Rows<Entry>; staying: readonly LeftOut[] },
): Promise<number> {
  const { to, storeSession, entries, staying } = about;
  const { terminal, signal } = context;
  const versions = storeSession === null ? null : keepsVersions(storeSession, signal);
  const failures =
    to.kind === "local"
      ? await removeFiles(to.path, { entries, signal })
      : storeSession === null
        ? []
        : await deleteObjects(storeSession, {
            objects: mapRows(entries, asObject),
            signal,
            onDeleted: () => undefined,
          });
  const failed = sayFailures(context, failures);
  const deleted = entries.length - failures.length;
  const keeps = await versions;
  const said = `${shownName(shownPlace(to))}: ${formatCount(deleted)} files removed${keptVersionsClause(keeps)}${withoutLeftOut(staying)}`;
  terminal.result(said, {
    type: "removed",
    deleted,
    filesFailed: failures.length,
    keepsVersions: keeps,
    leftOut: staying,
  });
  return failed;
}

const GONE: ReadonlySet<string> = new Set(["ENOTEMPTY", "ENOENT"]);

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
      // Also remove folders that are now empty; the first one that is not ends the loop.
      for (let at = dirname(path); at !== root && at.startsWith(root); at = dirname(at))
        await removeEmptyFolder("asked", at);
    } catch (error) {
      const fault = diskFault(error, { op: "rm", subject: path, otherwise: "WRITE_FAILED" });
      // A missing file (a temporary file of an earlier copy, which this copy has finished) is no failure.
      if (!GONE.has(fault.context.detail ?? "")) failures.push({ name: relative, fault });
    }
  }
  return failures;
}
