import { open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import {
  contentEvidenceOf,
  type ContentEvidence,
  holdsCheckpoints,
  isAmbiguous,
  isCalledCheckpoint,
  isKnownFormat,
  nameEvidenceOf,
  type NameEvidence,
  sequenceOf,
  whyNoCheckpoint,
} from "#protocol/recognition/checkpoint-evidence.ts";
import { fileTimes } from "#worker/base/file-times.ts";
import type { Candidate } from "./find.ts";
import { isModelContent } from "./inside/is-model-content.ts";
import type { Look, LookedFile } from "./look.ts";

export interface RecogniseOptions {
  /** Whether names come from `--pattern`, so that a person says which ones are checkpoints. */
  isNamed: boolean;
  /**
   * Nobody named the folder: only what the run wrote counts, and a file whose name and content say no step only under a name of
   * savers (`last.pt`). Downloads and base models have times, which are higher than any step.
   */
  onlyOwn?: boolean;
  /** When this worker began to watch the run, epoch ms. */
  watchedSince: number;
  /** Returns whether this worker captured or restored it. */
  knows(path: string, fingerprint: string): boolean;
  /** Returns whether a restore of this worker gave it its name. Such a name is no evidence of how the program names its own. */
  isRestored(path: string): boolean;
}

const WAS_THERE =
  "it was there before this run was watched, and no --watch names its folder; it is taken once the program writes it";

const NO_STEP = "it says no step, and no --watch names its folder";

export interface Verdict {
  /** Why it is no checkpoint; null when it is one. */
  why: string | null;
  content: ContentEvidence;
  /** When its newest file was written, epoch ms. */
  writtenMs: number;
  /** It may be a checkpoint, but not of this run: `onlyOwn`. */
  isForeign?: boolean;
}

/**
 * Tells checkpoints from other folders whose names end in a number (protocol/recognition/checkpoint-evidence.ts has the rules).
 * Neighbors of a candidate are evidence too and are remembered, so candidates come in the order of `inOrderOfEvidence`.
 */
export interface Recogniser {
  judge(candidate: Candidate, look: Look): Promise<Verdict>;
  /** Returns the last verdict; undefined before the first. */
  verdictOf(path: string): Verdict | undefined;
  /** Forgets candidates that do not exist any more. */
  keepOnly(present: readonly Candidate[]): void;
}

export function createRecogniser(options: RecogniseOptions): Recogniser {
  const { isNamed, onlyOwn = false, watchedSince, knows, isRestored } = options;
  const verdicts = new Map<string, Verdict & { sequence: string | null }>();
  /** Paths that existed at the first look; null before it. */
  let before: ReadonlySet<string> | null = null;
  /** Returns whether it appeared while this worker watched. On a disk with another clock no date of a file shows that. */
  const isNew = (path: string, [file]: readonly LookedFile[]): boolean =>
    file !== undefined && before?.has(path) === false && fileTimes.isRemote(file.identity.dev, file.path);
  return {
    verdictOf: (path) => verdicts.get(path),
    keepOnly: (present) => {
      const there = new Set(present.map(({ path }) => path));
      before ??= there;
      for (const path of verdicts.keys()) if (!there.has(path)) verdicts.delete(path);
    },
    judge: async (candidate, look) => {
      const { path, name, kind } = candidate;
      const content = await readContent(look.files);
      const evidence = evidenceOfName(candidate);
      const sequence = sequenceOf(name);
      const folder = dirname(path);
      const isOfThisRun =
        (await appearedAt(path, look)) >= watchedSince || knows(path, look.fingerprint) || isNew(path, look.files);
      // Files of one folder are one state, also a download beside a base model.
      const isMixed = kind === "files" && look.files.some(({ mtimeMs }) => mtimeMs < watchedSince);
      const isForeign = onlyOwn && (!isOfThisRun || (isMixed && !knows(path, look.fingerprint)));
      const isUnnumbered = onlyOwn && candidate.stepFrom === "time" && evidence !== "word";
      const whyNot = whyNoCheckpoint({
        name: evidence,
        isCalledCheckpoint: isCalledCheckpoint(name),
        content,
        isNamed,
        holdsCheckpoints: kind === "folder" && holdsCheckpoints(sizesOf(look.files)),
        isBesideOthers: [...verdicts].some(
          ([other, one]) => one.sequence !== null && one.sequence !== sequence && dirname(other) === folder,
        ),
        isOfThisRun,
      });
      const why = whyNot ?? (isForeign ? WAS_THERE : isUnnumbered ? NO_STEP : null);
      const verdict = { why, content, writtenMs: look.newestMs, ...(isForeign && { isForeign: true }) };
      const isEvidence = why === null && evidence === "word" && !isRestored(path);
      verdicts.set(path, { ...verdict, sequence: isEvidence ? sequence : null });
      return verdict;
    },
  };
}

/** Returns the evidence of a name. A common name of savers (`last.pt`) counts as much as a checkpoint word with a number. */
export const evidenceOfName = ({ name, isSaverName }: Candidate): NameEvidence =>
  isSaverName === true ? "word" : nameEvidenceOf(name);

/** Returns the candidates with a saver's word in their names first: they are the evidence for the others. */
export function inOrderOfEvidence(candidates: readonly Candidate[]): Candidate[] {
  const isWord = (one: Candidate) => evidenceOfName(one) === "word";
  return [...candidates.filter(isWord), ...candidates.filter((one) => !isWord(one))];
}

/**
 * Returns when a candidate took its present form on this disk, epoch ms. It is the time of its newest file, or that of its
 * creation by a copy that keeps old dates. No faults.
 */
export async function appearedAt(path: string, { newestMs }: Pick<Look, "newestMs">): Promise<number> {
  const madeMs = await stat(path).then(
    ({ birthtimeMs }) => birthtimeMs,
    () => 0,
  );
  return Math.max(newestMs, madeMs);
}

/** A file whose name and content are judged. */
interface ContentFile {
  relative: string;
  path: string;
  identity: { sizeBytes: number };
}

const sizesOf = (files: readonly ContentFile[]) =>
  files.map(({ relative, identity }) => ({ relative, sizeBytes: identity.sizeBytes }));

/** First bytes of PyTorch files: a zip archive, or a pickle of protocol 2 or later. */
const MAGIC_BYTES = 4;
const ZIP = Buffer.from("PK\u0003\u0004");
const PICKLE = 0x80;
const PICKLE_PROTOCOLS = { least: 2, most: 5 };
const MOST_READ_FILES = 16;

/** Returns the strongest evidence of the content. Reads first bytes only where the names leave it open. No faults. */
export async function readContent(files: readonly ContentFile[]): Promise<ContentEvidence> {
  const sizes = sizesOf(files);
  const byNames = contentEvidenceOf(sizes);
  if (isKnownFormat(byNames)) return byNames;
  for (const { path } of byNames === "text" || byNames === "container" ? files.slice(0, MOST_READ_FILES) : [])
    if (await isModelContent(path)) return "weights";
  const open = files.filter(({ relative }) => isAmbiguous(relative)).slice(0, MOST_READ_FILES);
  const torch = new Set<string>();
  for (const { relative, path } of open) if (await hasTorchMagic(path)) torch.add(relative);
  return torch.size === 0 ? byNames : contentEvidenceOf(sizes, ({ relative }) => torch.has(relative));
}

async function hasTorchMagic(path: string): Promise<boolean> {
  try {
    const handle = await open(path, "r");
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAGIC_BYTES), 0, MAGIC_BYTES, 0);
      if (bytesRead < MAGIC_BYTES) return false;
      const protocol = buffer[1] ?? 0;
      const isPickle = protocol >= PICKLE_PROTOCOLS.least && protocol <= PICKLE_PROTOCOLS.most;
      return buffer.equals(ZIP) || (buffer[0] === PICKLE && isPickle);
    } finally {
      await handle.close();
    }
  } catch {
    return false;
  }
}
