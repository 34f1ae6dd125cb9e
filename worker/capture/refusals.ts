import { basename, join } from "node:path";
import { MOST_BESIDE } from "#protocol/checkpoint/place.ts";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import type { Clock } from "../base/clock.ts";
import type { Outbox } from "../hub-link/outbox.ts";
import type { BesideLeft } from "./detection/beside.ts";
import type { Candidate } from "./detection/find.ts";
import type { Look } from "./detection/look.ts";
import type { Ledger } from "./ledger.ts";
import type { TakeParts } from "./take-capture.ts";
import type { Watch } from "./watch.ts";

/** A refusal for one of these is for good; the others (a full disk) are looked at again. */
const FOR_GOOD: ReadonlySet<string> = new Set(["HOSTILE_NAME", "TOO_LARGE"]);
const TRY_AGAIN_MS = 60_000;
/** Of these it does not matter what exactly was refused. */
const OF_THE_DISK: ReadonlySet<string> = new Set(["NO_SPACE"]);

/** What was refused in one watched folder: when it is looked at again, and what the hub was told of it. */
export interface Refusals {
  /** Returns whether it was refused a short while ago, and did not change since. */
  isResting(path: string, fingerprint: string): boolean;
  /** Remembers a refusal, and tells the hub once for each reason. `look` null: it could not be looked at. */
  refuse(candidate: Candidate, about: { look: Look | null; fault: Fault }): Promise<void>;
  /** It was taken or passed over: an earlier refusal counts no more. */
  forget(path: string): void;
  /** Names what lies beside a checkpoint and is not kept with it. The checkpoint is captured: no failure changes that. */
  sayBesideLeft(left: readonly BesideLeft[]): Promise<void>;
}

/** What refusals are told to, and written to. */
export interface RefusalParts extends Pick<TakeParts, "hubKnows"> {
  watch: Watch;
  ledger: Pick<Ledger, "remember">;
  outbox: Pick<Outbox, "add">;
  onRefused(candidate: Candidate, fault: Fault, look: Look | null): void;
  onFault(fault: Fault): void;
}

/** Creates the memory of refusals of one watched folder. It ends with this process. */
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
    // First: what follows fails on a full disk.
    if (before?.what !== what) parts.onRefused(candidate, fault, look);
    if (look !== null && FOR_GOOD.has(code)) await ledger.remember(candidate.path, fingerprint);
    if (told.get(candidate.path) === what) return;
    // An older hub does not know the code, and would refuse all that stands behind it in the outbox. One that has said
    // nothing yet is told at a later look.
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
  const sayBesideLeft: Refusals["sayBesideLeft"] = async (left) => {
    const [first] = left;
    if (first === undefined) return;
    const path = join(watch.folder, first.path);
    const detail = besideLeftWords(first, left.length - 1);
    const fault = new Fault("NO_CHECKPOINT", { op: "capture", subject: path, detail });
    try {
      await refuse({ path, name: basename(path), step: 0, kind: "file" }, { look: null, fault });
    } catch (error) {
      parts.onFault(toFault(error, { op: "capture", subject: path }));
    }
  };
  return {
    refuse,
    sayBesideLeft,
    forget: (path) => {
      refusals.delete(path);
    },
    isResting: (path, fingerprint) => {
      const refusal = refusals.get(path);
      // What is not finished may be at any moment, by a file beside it too.
      if (refusal === undefined || refusal.code === "NOT_FINISHED") return false;
      const isMeant = refusal.fingerprint === fingerprint || OF_THE_DISK.has(refusal.code);
      return isMeant && clock.now() - refusal.at < TRY_AGAIN_MS;
    },
  };
}

function besideLeftWords({ isLarge }: BesideLeft, others: number): string {
  const more = others > 0 ? ` (and ${others} more)` : "";
  return isLarge
    ? `not kept: it is larger than 1 MiB, the limit of one file of settings beside a checkpoint${more}`
    : `not kept: the limit is ${MOST_BESIDE} files of settings beside a checkpoint, and these are kept${more}`;
}
