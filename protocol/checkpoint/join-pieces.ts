import type { JoinedPiece, Manifest, ManifestFile } from "./checkpoint.ts";
import { attributesOf, folderModesOf, modesOf, type FolderModes } from "./file-attributes.ts";
import type { AttemptId } from "../base/names.ts";
import { findCollision } from "../base/names.ts";
import { doubtOfPiece } from "./pieces.ts";
import { filesOfRank } from "./rank-files.ts";
import { visibleText } from "../base/visible-text.ts";

/**
 * Joins the pieces of one step into one checkpoint. Its manifest refers to the objects of all pieces in place: no byte is
 * moved. Pure.
 */

export type PieceManifest = Manifest & { piece: NonNullable<Manifest["piece"]> };
export const isPiece = (manifest: Manifest): manifest is PieceManifest => manifest.piece !== undefined;

/** Data files of PyTorch DCP, which cannot be read without their `.metadata`. */
const DCP_DATA = /(?:^|\/)__\d+_\d+\.distcp$/;

export interface PiecesOfStep {
  /** The newest piece of each node. */
  pieces: readonly PieceManifest[];
  /** Nodes that have already written a later step: if they have no piece of this step, they wrote none. */
  pastRanks: ReadonlySet<number>;
  /** Names of nodes by rank, as far as known. */
  nodeNames: ReadonlyMap<number, string>;
}

/** Returns why the pieces of a step are not a whole checkpoint yet; null when they are. */
export function whyNotJoined({ pieces, pastRanks, nodeNames }: PiecesOfStep): string | null {
  const [first] = pieces;
  if (first === undefined) return "no piece of it is there";
  const { of } = first.piece;
  const there = new Set(pieces.map(({ piece }) => piece.rank));
  const missing = Array.from({ length: of }, (_, rank) => rank).filter((rank) => !there.has(rank));
  const needs = pieces.flatMap(({ piece }) => piece.needs ?? []);
  const mayLack = needs.length > 0 && missing.every((rank) => pastRanks.has(rank));
  if (missing.length > 0 && !mayLack) return missingWords(missing, nodeNames);
  return whyDoubtful(pieces) ?? whyUnlike(pieces) ?? whyUnread(pieces) ?? whyUnmet(pieces);
}

const MOST_NAMED = 4;

function missingWords(ranks: readonly number[], names: ReadonlyMap<number, string>): string {
  const words = ranks.slice(0, MOST_NAMED).map((rank) => {
    const name = names.get(rank);
    return name === undefined ? String(rank) : `${rank} (${name})`;
  });
  const more = ranks.length > MOST_NAMED ? ` and ${ranks.length - MOST_NAMED} more` : "";
  if (ranks.length === 1) return `the piece of node ${words[0]} is missing`;
  return `the pieces of nodes ${words.join(", ")}${more} are missing`;
}

/** Returns the doubt of a piece that may itself be incomplete. */
function whyDoubtful(pieces: readonly PieceManifest[]): string | null {
  const found = pieces.find(({ piece, doubt }) => doubt !== doubtOfPiece(piece));
  return found === undefined ? null : `of the piece of node ${found.piece.rank}: ${found.doubt ?? ""}`;
}

/**
 * Returns why pieces cannot share one manifest. It names one key, whose wrapping is bound to the id and the step of one
 * checkpoint, and each of its objects lies in each of its homes; to join such pieces, their bytes would have to be written anew.
 */
function whyUnlike([first, ...others]: readonly PieceManifest[]): string | null {
  if (first === undefined) return null;
  if ([first, ...others].some(({ transform }) => transform.kind === "sealed"))
    return `all ${others.length + 1} pieces are there, each encrypted with a key of its own, which one manifest cannot name: restore them one by one`;
  const homes = JSON.stringify(first.homes);
  return others.some((other) => JSON.stringify(other.homes) !== homes)
    ? `all ${others.length + 1} pieces are there, in several buckets, which one manifest cannot name: restore them one by one`
    : null;
}

/** Finds data of PyTorch DCP without its metadata. */
function whyUnread(pieces: readonly PieceManifest[]): string | null {
  const data = pieces.flatMap(({ files }) => files).find(({ path }) => DCP_DATA.test(path));
  if (data === undefined || pieces.some(({ piece }) => piece.needs !== undefined)) return null;
  return `.metadata is missing in all pieces, and ${visibleText(data.path)} cannot be read without it`;
}

/** Returns the first file that the metadata names and that is missing or too short. */
function whyUnmet(pieces: readonly PieceManifest[]): string | null {
  const sizes = new Map<string, number>();
  for (const { files } of pieces)
    for (const { path, sizeBytes } of files) sizes.set(path, Math.max(sizes.get(path) ?? 0, sizeBytes));
  for (const { path, sizeBytes } of pieces.flatMap(({ piece }) => piece.needs ?? [])) {
    const there = sizes.get(path);
    if (there === undefined) return `${visibleText(path)}, named by .metadata, is missing`;
    if (there < sizeBytes) return `${visibleText(path)} is shorter than .metadata says`;
  }
  return null;
}

const sameContent = (a: ManifestFile, b: ManifestFile): boolean =>
  a.sizeBytes === b.sizeBytes &&
  a.extents.length === b.extents.length &&
  a.extents.every(({ length, crc32 }, at) => length === b.extents[at]?.length && crc32 === b.extents[at].crc32);

interface Union {
  files: ManifestFile[];
  modes: (number | undefined)[];
  emptyFolders: Set<string>;
  folderModes: Map<string, number>;
  pieces: JoinedPiece[];
}

/**
 * Merges the files of all pieces. For a name that several nodes use, the file of the lowest rank counts; different content
 * of another node stays in that node's `own`.
 */
function unite(pieces: readonly PieceManifest[]): Union {
  const at = new Map<string, ManifestFile>();
  const union: Union = { files: [], modes: [], emptyFolders: new Set(), folderModes: new Map(), pieces: [] };
  for (const one of pieces.toSorted((a, b) => a.piece.rank - b.piece.rank)) {
    const modeOf = one.attributes === undefined ? () => undefined : modesOf(one.attributes);
    const own: ManifestFile[] = [];
    for (const [index, file] of one.files.entries()) {
      const known = at.get(file.path);
      if (known === undefined) {
        at.set(file.path, file);
        union.files.push(file);
        union.modes.push(modeOf(index));
      } else if (!sameContent(known, file)) own.push(file);
    }
    for (const folder of one.attributes?.emptyFolders ?? []) union.emptyFolders.add(folder);
    for (const [path, mode] of folderModesIn(one)) if (!union.folderModes.has(path)) union.folderModes.set(path, mode);
    const { id: checkpointId, attempt, node } = one;
    union.pieces.push({ rank: one.piece.rank, node, checkpointId, attempt, ...(own.length > 0 && { own }) });
  }
  return union;
}

/** Returns a path and all folders above it. */
function withFoldersAbove(path: string): string[] {
  const found = [path];
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) found.push(path.slice(0, end));
  return found;
}

/** Returns the modes of all folders of a manifest, as far as they are known. */
function folderModesIn({ files, attributes }: Pick<Manifest, "files" | "attributes">): FolderModes {
  const modeOf = attributes === undefined ? null : folderModesOf(attributes);
  if (modeOf === null) return new Map();
  const paths = [...files.map(({ path }) => path), ...(attributes?.emptyFolders ?? []).map((path) => `${path}/`)];
  const folders = new Set(["", ...paths.flatMap((path) => withFoldersAbove(path).slice(1))]);
  return new Map([...folders].map((path) => [path, modeOf(path)]));
}

/** Returns the manifest of the whole checkpoint; null when files of several nodes cannot coexist in one folder. */
export function joinPieces(
  pieces: readonly PieceManifest[],
  about: { id: string; attempt: AttemptId },
): Manifest | null {
  const ordered = pieces.toSorted((a, b) => a.piece.rank - b.piece.rank);
  const [first] = ordered;
  if (first === undefined) return null;
  const { files, modes, emptyFolders, folderModes, pieces: joinedPieces } = unite(ordered);
  if (findCollision(files.map(({ path }) => path)) !== null) return null;
  const taken = new Set(files.flatMap(({ path }) => withFoldersAbove(path)));
  const attributes = attributesOf(
    modes,
    [...emptyFolders].filter((folder) => !taken.has(folder)),
    folderModes,
  );
  const { piece, doubt: _, attributes: __, ...rest } = first;
  return {
    ...rest,
    ...about,
    framework: ordered.find(({ framework }) => framework !== null)?.framework ?? null,
    metrics: Object.assign({}, ...ordered.toReversed().map(({ metrics }) => metrics)) as Manifest["metrics"],
    capturedAt: Math.max(...ordered.map(({ capturedAt }) => capturedAt)),
    sizeBytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    transform: { kind: ordered.some(({ transform }) => transform.kind === "zstd") ? "zstd" : "none" },
    ...(attributes !== null && { attributes }),
    joined: { of: piece.of, pieces: joinedPieces },
    files,
  };
}

/**
 * Returns the manifest that one node restores. It has the node's own version of files that differ between nodes. In layouts
 * that name ranks it leaves out the state of other ranks. Where names do not tell which rank reads a file (PyTorch DCP), a
 * node gets all pieces. `member` null: all files, in the version of the lowest rank.
 */
export function forNode(whole: Manifest, member: { rank: number; of: number } | null): Manifest {
  const { joined } = whole;
  if (joined === undefined || member === null || member.of !== joined.of) return whole;
  const mine = joined.pieces.find(({ rank }) => rank === member.rank);
  const own = new Map<string, ManifestFile>((mine?.own ?? []).map((file) => [file.path, file]));
  const wanted = needed(whole, mine);
  const files = whole.files.filter(({ path }) => wanted.has(path)).map((file) => own.get(file.path) ?? file);
  const { attributes, ...rest } = whole;
  const modeOf = attributes === undefined ? null : modesOf(attributes);
  const modes = whole.files.flatMap(({ path }, index) => (wanted.has(path) ? [modeOf?.(index)] : []));
  const kept =
    attributes === undefined
      ? null
      : attributesOf(modes, attributes.emptyFolders, folderModesIn({ files, attributes }));
  return {
    ...rest,
    ...(kept !== null && { attributes: kept }),
    sizeBytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    files,
  };
}

const NO_RANK = 1_000_000_000;

/** Returns the paths that a node reads: its own piece, and those files of other nodes whose names contain no rank. */
function needed({ files }: Manifest, mine: JoinedPiece | undefined): ReadonlySet<string> {
  const own = new Set<string>((mine?.own ?? []).map(({ path }) => path));
  const isMine = ({ path, extents }: ManifestFile) =>
    own.has(path) || (mine !== undefined && extents.some(({ key }) => key.includes(`/${mine.attempt}/`)));
  const paths = files.map(({ path }) => path as string);
  try {
    // No rank is so high, so only files without a rank remain.
    const shared = new Set(filesOfRank(paths, { rank: NO_RANK, of: NO_RANK + 1 }));
    return new Set(files.filter((file) => isMine(file) || shared.has(file.path)).map(({ path }) => path));
  } catch {
    return new Set(paths);
  }
}
