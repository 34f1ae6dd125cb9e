import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { Fault } from "#protocol/fault.ts";
import { codeOf, diskFault } from "../engine/disk-fault.ts";
import { identityOf, type FileIdentity } from "../engine/identity.ts";
import { isTemporaryName } from "#protocol/checkpoint-layouts.ts";
import type { Candidate } from "./find.ts";

/** One look at a checkpoint: its files, and a fingerprint that changes whenever a name, a size or a time of change does. */
export interface Look {
  files: LookedFile[];
  fingerprint: string;
  sizeBytes: number;
  /** Newest time of change of the content, epoch ms. */
  newestMs: number;
  /** Newest change of anything, including by a copy that keeps old dates, epoch ms. */
  touchedMs: number;
  hasTemporary: boolean;
}

export interface LookedFile {
  /** Relative, `/`-separated. */
  relative: string;
  path: string;
  identity: FileIdentity;
  mtimeMs: number;
}

/** Null when it vanished meanwhile. A link to a file counts as that file. Faults: READ_FAILED, HOSTILE_NAME (a linked folder). */
export async function lookAt(candidate: Pick<Candidate, "path" | "kind">): Promise<Look | null> {
  const files: LookedFile[] = [];
  let touchedMs = 0;
  let hasTemporary = false;
  const note = (stats: BigIntStats) => {
    touchedMs = Math.max(touchedMs, Number(stats.ctimeMs));
  };
  const enter = async (relative: string) => {
    for (const entry of await readdir(join(candidate.path, relative), { withFileTypes: true })) {
      const below = relative === "" ? entry.name : `${relative}/${entry.name}`;
      const path = join(candidate.path, below);
      if (isTemporaryName(entry.name) && entry.name !== ".metadata" && entry.name !== ".complete") {
        if (!entry.name.startsWith(".") || /tmp|partial|temp/i.test(entry.name)) hasTemporary = true;
      }
      const stats = await stat(path, { bigint: true }).catch((error: unknown) => {
        if (!entry.isSymbolicLink() || codeOf(error) !== "ENOENT") throw error;
        throw new Fault("READ_FAILED", { op: "capture", subject: path, detail: "it is a link that leads nowhere" });
      });
      note(stats);
      if (stats.isDirectory() && entry.isSymbolicLink()) {
        throw new Fault("HOSTILE_NAME", { op: "capture", subject: path, detail: "it is a link to a folder" });
      }
      if (stats.isDirectory()) await enter(below);
      else if (stats.isFile())
        files.push({ relative: below, path, identity: identityOf(stats), mtimeMs: Math.max(0, Number(stats.mtimeMs)) });
    }
  };
  try {
    if (candidate.kind === "folder") {
      await enter("");
    } else {
      const stats = await stat(candidate.path, { bigint: true });
      note(stats);
      files.push({
        relative: basename(candidate.path),
        path: candidate.path,
        identity: identityOf(stats),
        mtimeMs: Math.max(0, Number(stats.mtimeMs)),
      });
    }
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return null;
    throw diskFault(error, { op: "read", subject: candidate.path, otherwise: "READ_FAILED" });
  }
  files.sort((a, b) => (a.relative < b.relative ? -1 : 1));
  return {
    files,
    fingerprint: fingerprintOf(files),
    sizeBytes: files.reduce((sum, file) => sum + file.identity.sizeBytes, 0),
    newestMs: files.reduce((newest, file) => Math.max(newest, file.mtimeMs), 0),
    touchedMs,
    hasTemporary,
  };
}

/** Names, sizes and times of change; survives a rename of the folder and a restart. */
function fingerprintOf(files: readonly LookedFile[]): string {
  const hash = createHash("sha256");
  for (const { relative, identity } of files) hash.update(`${relative}\0${identity.sizeBytes}\0${identity.mtimeNs}\n`);
  return hash.digest("hex").slice(0, 32);
}
