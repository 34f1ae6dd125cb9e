import type { UnopenedLine } from "#protocol/checkpoint/line-branch.ts";
import { toFault, type Fault } from "#protocol/faults/fault.ts";
import type { HubFeature } from "#protocol/wire/hello.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import type { Packing } from "#protocol/checkpoint/packing.ts";
import type { GroupMember } from "#protocol/checkpoint/pieces.ts";
import type { WatchedRoot } from "#protocol/checkpoint/place.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import type { Capture } from "./capture.ts";
import type { Disk } from "./disk-budget.ts";
import type { BesideLeft } from "./detection/beside.ts";
import type { Candidate } from "./detection/find.ts";
import type { Ledger } from "./ledger.ts";
import type { Look } from "./detection/look.ts";
import type { Runs } from "./runs.ts";
import { takeSnapshot } from "./snapshot.ts";

/** Parts that secure a finished checkpoint within the disk budget, and record it in the ledger before anybody is told. */
export interface TakeParts {
  ledger: Ledger;
  runs: Runs;
  disk: Disk;
  /** Parent of all captures. */
  captures: string;
  /** Returns the traits of the store, or a guess while they are unknown: the upload plans again after a wrong guess. */
  traits(): StoreTraits;
  partBytes: number | null;
  /** Returns the packing of the profile, or the default while it is unknown. */
  packing(): Packing;
  wallNow(): number;
  /** Returns whether the hub knows a feature; null: it has said nothing yet. Left out: it knows none. */
  hubKnows?(feature: HubFeature): boolean | null;
  /** Called with small files around the checkpoint that are not kept with it, by their paths below the watched folder. */
  onBesideLeft?(left: readonly BesideLeft[]): void;
  /** Called with a fault after which the checkpoint is captured anyway. */
  onFault?(fault: Fault): void;
  /** Rank of this node among several that write the run together. */
  group?: GroupMember | null;
}

/**
 * Captures a checkpoint. Returns null when another caller has captured it already.
 * Faults: DISK_BUDGET, SOURCE_CHANGED, HOSTILE_NAME, TOO_LARGE, NO_SPACE, READ_FAILED, WRITE_FAILED.
 */
export async function takeCapture(
  parts: TakeParts,
  about: {
    candidate: Candidate;
    look: Look;
    run: RunName;
    root: string | null;
    watchedRoot?: WatchedRoot | undefined;
    priority?: number;
    /** Present when more files of its step may follow. */
    open?: Capture["open"];
    /** Line that it begins or belongs to while the hub cannot be asked to open it. */
    newLine?: UnopenedLine | null;
  },
): Promise<Capture | null> {
  const { ledger } = parts;
  const { candidate, look, run, root, watchedRoot, newLine = null } = about;
  const epoch = newLine === null ? (parts.runs.get(run)?.claim?.epoch ?? null) : null;
  // Complete checkpoints go before doubtful ones.
  const behind = candidate.doubt === undefined ? 0 : -1;
  const priority = (about.priority ?? 0) + ledger.rank(run) + behind;
  return parts.disk.withRoom(
    {
      run,
      role: candidate.role,
      doubt: candidate.doubt,
      step: candidate.step,
      sizeBytes: look.sizeBytes,
      root: watchedRoot,
      epoch,
      newLine,
    },
    async () => {
      if (ledger.knows(candidate.path, look.fingerprint)) return null;
      const capture = await takeSnapshot({
        candidate,
        look,
        run,
        root,
        watchedRoot: watchedRoot ?? null,
        keepsPlace: parts.hubKnows?.("place") === true,
        ...(parts.onBesideLeft !== undefined && { onBesideLeft: parts.onBesideLeft }),
        group: parts.group ?? null,
        epoch,
        newLine,
        captures: parts.captures,
        traits: parts.traits(),
        partBytes: parts.partBytes,
        packing: parts.packing(),
        startedBy: "queue",
        priority,
        wallNow: parts.wallNow,
      });
      if (about.open != null) capture.open = about.open;
      try {
        await ledger.add(capture, look.fingerprint, candidate.doubt !== undefined);
      } catch (error) {
        // The disk is most likely full, and the copy must not fill it further.
        await removeOwned("capture", capture.folder);
        throw error;
      }
      try {
        await ledger.rememberSet(candidate.path, look);
      } catch (error) {
        // The ledger has the capture, so it continues. Without this note it is at worst captured again.
        parts.onFault?.(toFault(error, { op: "capture", subject: candidate.path }));
      }
      return capture;
    },
  );
}
