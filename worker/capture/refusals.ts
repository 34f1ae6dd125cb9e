import { basename, join } from "node:path";
import { MOST_BESIDE } from "#protocol/checkpoint/place.ts";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import type { Clock } from "../base/clock.ts";
import type { Outbox } from "../hub-link/outbox.ts";
import type { BesideLeft } from "./detection/beside.ts";
import type { Candidate } from "./detection/find.ts";
import { folderOf, type Look, type SpecialFile } from "./detection/look.ts";
import type { Ledger } from "./ledger.ts";
import type { TakeParts } from "./take-capture.ts";
import type { Watch } from "./watch.ts";

/** Faults that refuse for good; after all others (a full disk) the candidate is looked at again. */
const FOR_GOOD: ReadonlySet<string> = new Set(["HOSTILE_NAME", "TOO_LARGE"]);
const TRY_AGAIN_MS = 60_000;
/** Names of special files that are remembered, as said or as not told yet. */
const MOST_SPECIAL = 1_000;
/** Faults of the disk, for which it does not matter what was refused. */
const OF_THE_DISK: ReadonlySet<string> = new Set(["NO_SPACE"]);

/** Refusals in one watched folder: when to look again, and what the hub was told. */
export interface Refusals {
  /** Returns whether it was refused a short while ago, and did not change since. */
  isResting(path: string, fingerprint: string): boolean;
  /** Remembers a refusal, and tells the hub once for each reason. `look` null: the candidate could not be read. */
  refuse(candidate: Candidate, about: { look: Look | null; fault: Fault }): Promise<void>;
  /** Forgets the refusal of a candidate that was captured or passed over. */
  forget(path: string): void;
  /** Reports pipes, sockets and devices in a captured checkpoint, once for each name. Never fails. */
  saySpecial(candidate: Candidate, look: Look): Promise<void>;
  /** Reports what lies beside a checkpoint and is not kept with it. Never fails, because the checkpoint itself is captured. */
  sayBesideLeft(left: readonly BesideLeft[]): Promise<void>;
  /** Tells the hub of both what was found before the hub had said what it understands. Never fails. */
  tellUntold(): Promise<void>;
}

/** Where refusals are reported and recorded. */
export interface RefusalParts extends Pick<TakeParts, "hubKnows"> {
  watch: Watch;
  ledger: Pick<Ledger, "remember">;
  outbox: Pick<Outbox, "add">;
  onRefused(candidate: Candidate, fault: Fault, look: Look | null): void;
  onFault(fault: Fault): void;
}

/** Creates the refusals of one watched folder. They are kept in memory only. */
export function createRefusals(parts: RefusalParts, clock: Clock): Refusals {
  const { watch, ledger, outbox } = parts;
  const told = new Map<string, string>();
  const refusals = new Map<string, { what: string; code: string; fingerprint: string; at: number }>();
  const refuse: Refusals["refuse"] = async (candidate, about) => {
    const { look, fault } = about;
    const { code } = fault;
    const fingerprint = look?.fingerprint ?? "";
    const what = `${code} ${fingerprint}`;
    const before = refusals.get(candidate.path);
    refusals.set(candidate.path, { what, code, fingerprint, at: clock.now() });
    // Called first, because what follows fails on a full disk.
    if (before?.what !== what) parts.onRefused(candidate, fault, look);
    if (look !== null && FOR_GOOD.has(code))
      await ledger.remember(candidate.path, fingerprint, candidate.doubt !== undefined);
    if (told.get(candidate.path) === what) return;
    // An older hub does not know the code, and would refuse everything behind it in the outbox. A hub that has said nothing yet
    // is told at a later look.
    if (code === "NO_CHECKPOINT" && parts.hubKnows?.("no-checkpoint") !== true) return;
    told.set(candidate.path, what);
    if (code === "LINK_REFUSED" && parts.hubKnows?.("link-refused") !== true) return;
    await outbox.add({
      type: "capture-refused",
      run: watch.run,
      path: candidate.path.slice(-1024),
      fault: fault.toData(),
    });
  };
  /** A checkpoint is captured once, so no later look finds these again. By path, with the detail. */
  const untold = new Map<string, string>();
  const sayLeft = async (path: string, detail: string): Promise<void> => {
    const fault = new Fault("NO_CHECKPOINT", { op: "capture", subject: path, detail });
    try {
      await refuse({ path, name: basename(path), step: 0, kind: "file" }, { look: null, fault });
    } catch (error) {
      parts.onFault(toFault(error, { op: "capture", subject: path }));
    }
    if (told.has(path)) untold.delete(path);
    else if (untold.size < MOST_SPECIAL) untold.set(path, detail);
  };
  const sayBesideLeft: Refusals["sayBesideLeft"] = async (left) => {
    const [first] = left;
    if (first === undefined) return;
    await sayLeft(join(watch.folder, first.path), besideLeftWords(first, left.length - 1));
  };
  const saidSpecial = new Set<string>();
  const saySpecial: Refusals["saySpecial"] = async (candidate, { special }) => {
    // A program that makes one for each checkpoint is named once, not with each step.
    const fresh = special.filter(({ relative }) => !saidSpecial.has(relative));
    const [first] = fresh;
    if (first === undefined) return;
    if (saidSpecial.size > MOST_SPECIAL) saidSpecial.clear();
    for (const { relative } of fresh) saidSpecial.add(relative);
    await sayLeft(join(folderOf(candidate), first.relative), specialWords(fresh));
  };
  return {
    refuse,
    saySpecial,
    sayBesideLeft,
    tellUntold: async () => {
      if (parts.hubKnows?.("no-checkpoint") !== true) return;
      for (const [path, detail] of untold) await sayLeft(path, detail);
    },
    forget: (path) => {
      refusals.delete(path);
    },
    isResting: (path, fingerprint) => {
      const refusal = refusals.get(path);
      // An unfinished candidate may become finished at any moment, also by a file beside it.
      if (refusal === undefined || refusal.code === "NOT_FINISHED") return false;
      const isMeant = refusal.fingerprint === fingerprint || OF_THE_DISK.has(refusal.code);
      return isMeant && clock.now() - refusal.at < TRY_AGAIN_MS;
    },
  };
}

function specialWords(special: readonly SpecialFile[]): string {
  const more = special.length > 1 ? ` (and ${special.length - 1} more)` : "";
  return `not kept: it is a ${special[0]?.is}, which has no bytes of its own${more}; all other files of the checkpoint are captured`;
}

/** Returns the refusal of the pipes, sockets and devices in a checkpoint that a person saves; null where it has none. */
export function specialRefusal(candidate: Candidate, { special }: Look): { candidate: Candidate; fault: Fault } | null {
  const [first] = special;
  if (first === undefined) return null;
  const path = join(folderOf(candidate), first.relative);
  const fault = new Fault("NO_CHECKPOINT", { op: "save", subject: path, detail: specialWords(special) });
  return { candidate: { ...candidate, path }, fault };
}

function besideLeftWords({ isLarge }: BesideLeft, others: number): string {
  const more = others > 0 ? ` (and ${others} more)` : "";
  return isLarge
    ? `not kept: it is larger than 1 MiB, the limit of one file of settings beside a checkpoint${more}`
    : `not kept: the limit is ${MOST_BESIDE} files of settings beside a checkpoint, and these are kept${more}`;
}
