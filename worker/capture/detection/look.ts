import { createHash } from "node:crypto";
import { type BigIntStats, type Dirent, statSync } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { isThere } from "#worker/base/disk/is-there.ts";
import { askDisk, type DiskCall, type DiskPace } from "#worker/base/ask-disk.ts";
import { codeOf, diskFault } from "#worker/base/disk-fault.ts";
import { fileTimes } from "#worker/base/file-times.ts";
import { identityOf, type FileIdentity } from "#worker/base/file-identity.ts";
import { isFrameworkFile, isWeightsName } from "#protocol/recognition/checkpoint-evidence.ts";
import { isLabelName, isModelName } from "#protocol/recognition/checkpoint-file-names.ts";
import { whyPathRefused } from "#protocol/base/names.ts";
import { isLeftByNfs, isTemporaryInside } from "#protocol/recognition/checkpoint-layouts.ts";
import type { Candidate } from "./find.ts";
import { whyNotFollowed, type LinkRule } from "./link-rule.ts";

/** One look at a checkpoint: its files, and a fingerprint that changes whenever a name, a size or a time of change does. */
export interface Look {
  files: LookedFile[];
  fingerprint: string;
  sizeBytes: number;
  /** Newest modification time of its files, epoch ms. */
  newestMs: number;
  /** Newest change of anything, including by a copy that keeps old dates, epoch ms. */
  touchedMs: number;
  /** Entries that cannot be kept, with reasons: a name that is no UTF-8 or has control characters, a link to a folder or to nothing. */
  leftOut: LeftOut[];
  /** Pipes, sockets and devices: they have no bytes of their own that could be kept. */
  special: SpecialFile[];
  /** Folders with nothing in them, relative. */
  emptyFolders: string[];
  /** Permission bits of its folders by their relative paths, with the empty path for its own; none of files without a folder. */
  folderModes: Map<string, number>;
  /** Whether it lies on a disk of another machine, whose clock sets its times. */
  isRemote: boolean;
  /** Whether a file on its disk may look unchanged a moment after a write (see `file-times`). */
  wobbles: boolean;
  /** First name in it that shows that it is still being written; null when none does. */
  temporary: string | null;
}

/** Errors of a link to what is not there, to below a file, and to itself. */
const NOWHERE: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);
const LEADS_NOWHERE = "it is a link that leads nowhere";

/** Returns whether weights or state of the checkpoint are missing, because a link in their place leads nowhere. */
export const lacksLinkedState = ({ leftOut }: Pick<Look, "leftOut">): boolean =>
  leftOut.some(({ name, why }) => {
    const own = basename(name);
    return why === LEADS_NOWHERE && (isModelName(own) || isWeightsName(own) || isFrameworkFile(own));
  });

interface LeftOut {
  /** Name with replacements for what cannot be shown. */
  name: string;
  why: string;
}

export interface SpecialFile {
  /** Relative, `/`-separated. */
  relative: string;
  is: "pipe" | "socket" | "device";
}

export interface LookedFile {
  /** Relative, `/`-separated. */
  relative: string;
  path: string;
  identity: FileIdentity;
  mtimeMs: number;
  /** Permission bits; absent for files that the worker made itself. */
  mode?: number;
}

/**
 * Reads names, sizes and times of a candidate's files. Null when it vanished meanwhile. A link to a file counts as that file.
 * Faults: READ_FAILED, HOSTILE_NAME (nothing in it can be kept), LINK_REFUSED (by the rule of the watched folder).
 */
export async function lookAt(candidate: Pick<Candidate, "path" | "kind" | "names" | "links">): Promise<Look | null> {
  const files: LookedFile[] = [];
  let touchedMs = 0;
  let temporary: string | null = null;
  const leftOut: LeftOut[] = [];
  const special: SpecialFile[] = [];
  const emptyFolders: string[] = [];
  const folderModes = new Map<string, number>();
  const wanted = candidate.names === undefined ? null : new Set(candidate.names);
  const root = folderOf(candidate);
  const { links } = candidate;
  const enter = async (relative: string) => {
    const folder = join(root, relative);
    const entries = await readdir(folder, { withFileTypes: true });
    const listed = wanted === null ? entries : entries.filter(({ name }) => wanted.has(name));
    if (entries.length === 0 && relative !== "") emptyFolders.push(relative);
    const own: Dirent[] = [];
    for (const entry of listed) {
      if (isLeftByNfs(entry.name)) continue;
      const isText = !entry.name.includes("\ufffd") || (await isThere(join(folder, entry.name)));
      const name = relative === "" ? entry.name : `${relative}/${entry.name}`;
      const why = isText ? whyPathRefused(name) : "its name is not UTF-8";
      if (why === null) own.push(entry);
      else leftOut.push({ name, why });
    }
    for (const seen of await askDisk(own, statCall(folder))) {
      const { entry, is, mode, ctimeMs, uid } = seen;
      const below = relative === "" ? entry.name : `${relative}/${entry.name}`;
      const path = join(folder, entry.name);
      if (isTemporaryInside(entry.name)) temporary ??= below;
      touchedMs = Math.max(touchedMs, ctimeMs);
      if (is === "nothing" || (is === "folder" && entry.isSymbolicLink())) {
        leftOut.push({ name: below, why: is === "folder" ? "it is a link to a folder" : LEADS_NOWHERE });
        continue;
      }
      if (links !== undefined && entry.isSymbolicLink()) await assertFollowed(path, links, uid);
      if (is === "folder") {
        if (candidate.kind === "folder") folderModes.set(below, mode);
        await enter(below);
      } else if (is === "file") files.push({ relative: below, path, ...steadily(seen, path), mode });
      else special.push({ relative: below, is });
    }
  };
  try {
    if (links !== undefined && candidate.kind === "folder" && (await lstat(root)).isSymbolicLink())
      await assertFollowed(root, links, (await stat(root)).uid);
    if (candidate.kind !== "file") {
      if (candidate.kind === "folder") folderModes.set("", factsOf(await stat(root, { bigint: true })).mode);
      await enter("");
    } else {
      const seen = factsOf(await stat(candidate.path, { bigint: true }));
      // It was a file when its folder was read. Reading a pipe would wait for its writer.
      if (seen.is !== "file") return null;
      const { mode, ctimeMs, uid } = seen;
      if (links !== undefined && (await lstat(candidate.path)).isSymbolicLink())
        await assertFollowed(candidate.path, links, uid);
      touchedMs = ctimeMs;
      const { path } = candidate;
      files.push({ relative: basename(path), path, ...steadily(seen, path), mode });
    }
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return null;
    throw diskFault(error, { op: "read", subject: candidate.path, otherwise: "READ_FAILED" });
  }
  const [impossible] = leftOut;
  if (files.length === 0 && impossible !== undefined)
    throw new Fault("HOSTILE_NAME", { op: "capture", subject: impossible.name, detail: impossible.why });
  files.sort((a, b) => (a.relative < b.relative ? -1 : 1));
  return {
    files,
    fingerprint: fingerprintOf(files),
    sizeBytes: files.reduce((sum, file) => sum + file.identity.sizeBytes, 0),
    newestMs: files.reduce((newest, file) => Math.max(newest, file.mtimeMs), 0),
    touchedMs,
    leftOut,
    special,
    emptyFolders,
    folderModes,
    isRemote: files.some(({ identity, path }) => fileTimes.isRemote(identity.dev, path)),
    wobbles: files.some(({ identity }) => fileTimes.wobbles(identity)),
    temporary,
  };
}

/** Refuses a link that the rule does not follow. Faults: LINK_REFUSED. */
async function assertFollowed(path: string, rule: LinkRule, targetUid: number): Promise<void> {
  const detail = await whyNotFollowed(path, rule, targetUid);
  if (detail !== null) throw new Fault("LINK_REFUSED", { op: "capture", subject: path, detail });
}

/**
 * Returns the fingerprint of a look without its labels (`last.ckpt`, `best.pt`), which move to the next step; null when it has
 * no labels. A set that has lost its labels is the same checkpoint as before.
 */
export function fingerprintWithoutLabels({ files }: Pick<Look, "files">): string | null {
  const own = files.filter(({ relative }) => !isLabelName(relative));
  return own.length === files.length || own.length === 0 ? null : fingerprintOf(own);
}

/**
 * Returns a weaker fingerprint (names, sizes, the newest time) for disks of other machines, which may report other times later.
 * Null on disks of this machine.
 */
export function looseFingerprint({ files, newestMs }: Pick<Look, "files" | "newestMs">): LooseFingerprint | null {
  const [file] = files;
  if (file === undefined || !fileTimes.isRemote(file.identity.dev, file.path)) return null;
  const hash = createHash("sha256");
  for (const { relative, identity } of files) hash.update(`${relative}\0${identity.sizeBytes}\n`);
  return { names: hash.digest("hex").slice(0, 32), newestMs };
}

export interface LooseFingerprint {
  names: string;
  newestMs: number;
}

/** Returns the folder to which the file names of a candidate are relative. */
export const folderOf = ({ path, kind }: Pick<Candidate, "path" | "kind">): string =>
  kind === "folder" ? path : dirname(path);

function kindOf(stats: BigIntStats): "folder" | "file" | SpecialFile["is"] {
  if (stats.isDirectory()) return "folder";
  if (stats.isFile()) return "file";
  if (stats.isFIFO()) return "pipe";
  return stats.isSocket() ? "socket" : "device";
}

/** Returns the few numbers that count: complete ones of 50,000 files take tens of megabytes. */
const factsOf = (stats: BigIntStats) => ({
  is: kindOf(stats),
  identity: identityOf(stats),
  mtimeMs: Math.max(0, Number(stats.mtimeMs)),
  mode: Number(stats.mode) & 0o777,
  ctimeMs: Number(stats.ctimeMs),
  uid: Number(stats.uid),
});
/** Replaces the time by the one reported before, when the disk now reports another time without a write. */
function steadily(
  { identity, mtimeMs }: Pick<Facts, "identity" | "mtimeMs">,
  path: string,
): Pick<Facts, "identity" | "mtimeMs"> {
  const steady = fileTimes.steady(identity, path);
  return steady === identity
    ? { identity, mtimeMs }
    : { identity: steady, mtimeMs: Math.max(0, Math.floor(Number(steady.mtimeNs) / 1e6)) };
}

type Facts = ReturnType<typeof factsOf>;
type Seen = Omit<Facts, "is"> & { is: Facts["is"] | "nothing"; entry: Dirent };
/** Facts about what a broken link leads to. */
const NOTHING: Omit<Facts, "is"> = {
  identity: { dev: "0", ino: "0", sizeBytes: 0, mtimeNs: "0" },
  mtimeMs: 0,
  mode: 0,
  ctimeMs: 0,
  uid: 0,
};

const pace: DiskPace = { later: 0 };

/** Returns the call that stats the entries of a folder, through links. Faults: READ_FAILED. */
function statCall(folder: string): DiskCall<Dirent, Seen> {
  const orNothing = (entry: Dirent, error: unknown): Seen => {
    if (!entry.isSymbolicLink() || !NOWHERE.has(codeOf(error) ?? "")) throw error;
    return { entry, is: "nothing", ...NOTHING };
  };
  return {
    pace,
    now: (entry) => {
      try {
        return { entry, ...factsOf(statSync(join(folder, entry.name), { bigint: true })) };
      } catch (error) {
        return orNothing(entry, error);
      }
    },
    later: async (entry) => {
      try {
        return { entry, ...factsOf(await stat(join(folder, entry.name), { bigint: true })) };
      } catch (error) {
        return orNothing(entry, error);
      }
    },
  };
}

/** Returns the hash of names, sizes and times of change; it survives a rename of the folder and a restart. `files` in the order of names. */
export function fingerprintOf(files: readonly Pick<LookedFile, "relative" | "identity">[]): string {
  const hash = createHash("sha256");
  for (const { relative, identity } of files) hash.update(`${relative}\0${identity.sizeBytes}\0${identity.mtimeNs}\n`);
  return hash.digest("hex").slice(0, 32);
}
