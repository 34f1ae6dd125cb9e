import { basename, dirname } from "node:path";
import { isEnded } from "#protocol/wire/transfer.ts";
import { isBeside } from "#protocol/checkpoint/place.ts";
import { isLabelName, partOf } from "#protocol/recognition/checkpoint-file-names.ts";
import type { Capture } from "./capture.ts";
import { holdsOptimizer } from "./detection/inside/holds-optimizer.ts";
import type { Candidate } from "./detection/find.ts";
import { fingerprintOf, folderOf, type Look } from "./detection/look.ts";
import type { Ledger } from "./ledger.ts";

/**
 * Decides which captures are open: the first step of a program that writes single files. Nothing shows yet whether `model_10.pt` is
 * all of it or `optim_10.pt` follows. Its bytes are sent at once; it is committed when a second step shows which files belong to
 * one, when its program ends, or when no file followed for long.
 */

/** Names of parts of a training state; other parts most likely lie beside them. */
const PART =
  /(?:^|[-_.#])(model|net|net_?[gd]|weights?|optim|optimizer|opt|sched|scheduler|lr_scheduler|ema|unet|vae|(?:text_)?encoder|decoder|gen|generator|disc|discriminator|actor|critic|policy|value|agent|replay_buffer|vecnormalize|scaler|rng|ranks?[-_]?\d*|shard[-_]?\d+)(?=$|[-_.#])/i;
/** Formats of which savers write one file with all of the training state. */
const IS_ALL = /\.(keras|nemo)$/i;

/** Waits in settle times, for a name that may be of a whole checkpoint and for one of a part. */
const WAIT_TIMES = { any: 15, part: 150 } as const;

/** Returns the wait of a candidate that may grow; null when nothing is awaited. Reads at most the directory of its files. */
export async function openingOf(
  candidate: Candidate,
  look: Look,
  about: { settleMs: number; mostMs: number; wallNow: number },
): Promise<NonNullable<Capture["open"]> | null> {
  if (candidate.mayGrow !== true || candidate.kind === "folder" || candidate.isPiece === true) return null;
  if (candidate.doubt !== undefined) return null;
  for (const file of look.files)
    if (IS_ALL.test(file.relative) || (await holdsOptimizer(file.path, file.identity.sizeBytes))) return null;
  const isPart = look.files.some(({ relative }) => PART.test(partOf(relative)));
  const waitMs = Math.min(about.mostMs, about.settleMs * (isPart ? WAIT_TIMES.part : WAIT_TIMES.any));
  return { until: about.wallNow + waitMs, isPart };
}

/** Returns whether the commit of a capture still waits for other files. */
export const isOpen = ({ open, replacedBy }: Pick<Capture, "open" | "replacedBy">): boolean =>
  open != null && replacedBy === undefined;

/** Returns the open captures that a candidate contains: the same step in the same folder, with some of its files. */
export const openWithin = (captures: readonly Capture[], candidate: Candidate): Capture[] =>
  capturesWithin(captures, candidate).filter(isOpen);

function capturesWithin(captures: readonly Capture[], candidate: Candidate): Capture[] {
  const { step, kind, names = [candidate.name] } = candidate;
  if (kind === "folder") return [];
  const own = new Set(names);
  return captures.filter(
    (item) =>
      item.step === step &&
      dirname(item.sourcePath) === folderOf(candidate) &&
      item.files.every(({ path }) => isBeside(path) || own.has(basename(path))),
  );
}

/** Returns whether a candidate has files that the capture lacks. */
const hasMore = (item: Capture, { names, name }: Candidate): boolean => {
  const captured = new Set(item.files.map(({ path }) => basename(path)));
  return (names ?? [name]).some((one) => !captured.has(one));
};

/** With more files the parts of a step are not compared: there are too many of them. */
const MOST_COMPARED = 6;

/**
 * Returns the committed checkpoints that are a part of this step, byte for byte: files of it were written after the wait for them
 * was over. `lacks`: such a file.
 */
export function storedWithin(
  ledger: Pick<Ledger, "storedAs">,
  candidate: Candidate,
  { files }: Pick<Look, "files">,
): { checkpointId: string; lacks: string }[] {
  if (candidate.kind !== "files" || candidate.stepFrom !== undefined || files.length > MOST_COMPARED) return [];
  const found = new Map<string, string>();
  for (let chosen = 1; chosen < 2 ** files.length - 1; chosen++) {
    const isChosen = (at: number): boolean => Math.floor(chosen / 2 ** at) % 2 === 1;
    const part = files.filter((_, at) => isChosen(at));
    // A label moves from step to step, and its step is whole without it.
    const lacks = files.find(({ relative }, at) => !isChosen(at) && !isLabelName(relative))?.relative;
    if (lacks === undefined) continue;
    const fingerprint = fingerprintOf(part);
    for (const { path } of part) {
      const checkpointId = ledger.storedAs(path, fingerprint);
      if (checkpointId !== null) found.set(checkpointId, lacks);
    }
  }
  return [...found].map(([checkpointId, lacks]) => ({ checkpointId, lacks }));
}

type OpenLedger = Pick<Ledger, "all" | "update">;

/**
 * Follows what a look shows about open captures: a wait begins anew while files of its step are written, also when it was over and
 * the commit has not come through; it ends where other steps show which files belong to one. `isKnown`: the candidate was captured
 * as it is. Returns whether one ended.
 */
export async function followShape(
  ledger: OpenLedger,
  candidate: Candidate,
  about: { isKnown: boolean; wallNow: number; waitMs: number },
): Promise<boolean> {
  const { isKnown, wallNow, waitMs } = about;
  let isClosed = false;
  if (!isKnown && candidate.mayGrow === true)
    for (const item of capturesWithin(ledger.all(), candidate))
      if (isWaitOver(item) && hasMore(item, candidate))
        await ledger.update(item.id, { open: { until: wallNow + waitMs, isPart: true } });
  for (const item of openWithin(ledger.all(), candidate)) {
    const isGrowing = !isKnown || hasMore(item, candidate);
    if (isGrowing && item.open != null && item.open.until - wallNow < waitMs / 2)
      await ledger.update(item.id, { open: { ...item.open, until: wallNow + waitMs } });
    if (isGrowing || candidate.mayGrow === true) continue;
    await close(ledger, item, candidate.lacks === undefined ? undefined : lacksWords(candidate.lacks));
    isClosed = true;
  }
  return isClosed;
}

/** Returns whether the wait of a capture is over, and it is neither committed nor replaced. */
const isWaitOver = ({ open, state, replacedBy, doubt }: Capture): boolean =>
  open === null && !isEnded(state) && replacedBy === undefined && doubt === undefined;

/** Returns the doubt about a step that has fewer files than the steps beside it. */
export const lacksWords = (lacks: string): string => `${lacks} is missing, which the other steps have`;

/** Ends the wait of a capture. `doubt`: why it may be incomplete after all. */
const close = (ledger: Pick<Ledger, "update">, { id }: Capture, doubt?: string): Promise<void> =>
  ledger.update(id, { open: null, ...(doubt !== undefined && { doubt }) });

/**
 * Ends all waits of a run, or of all runs. `crashed`: its program ended in the middle, so what is named like a part is doubtful.
 * Returns whether there were any.
 */
export async function closeAll(
  ledger: OpenLedger,
  { run, how }: { run: string | null; how: "done" | "crashed" },
): Promise<boolean> {
  const all = ledger.all().filter((item) => isOpen(item) && (run === null || item.run === run));
  for (const item of all) await closeOne(ledger, item, how);
  return all.length > 0;
}

/** Ends the wait of one capture, as `closeAll` does. */
export const closeOne = (ledger: Pick<Ledger, "update">, item: Capture, how: "done" | "crashed"): Promise<void> =>
  close(ledger, item, how === "crashed" && item.open?.isPart === true ? CUT_OFF : undefined);

const CUT_OFF = "its program ended before a second step showed which files belong to one";
