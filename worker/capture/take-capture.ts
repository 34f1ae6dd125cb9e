import { toFault, type Fault } from "#protocol/faults/fault.ts";
import type { HubFeature } from "#protocol/wire/hello.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import type { Packing } from "#protocol/checkpoint/packing.ts";
import type { GroupMember } from "#protocol/checkpoint/pieces.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import type { Capture } from "./capture.ts";
import type { Disk } from "./disk-budget.ts";
import type { BesideLeft } from "./detection/beside.ts";
import type { Candidate } from "./detection/find.ts";
import type { Ledger } from "./ledger.ts";
import type { Look } from "./detection/look.ts";
import type { Runs } from "./runs.ts";
import { takeSnapshot } from "./snapshot.ts";

/** What it takes to secure a finished checkpoint: within the disk's budget, and known to the ledger before anybody is told. */
export interface TakeParts {
  ledger: Ledger;
  runs: Runs;
  disk: Disk;
  /** Parent of all captures. */
  captures: string;
  /** Of the store, or a guess while it is unknown: the upload plans again when it was wrong. */
  traits(): StoreTraits;
  partBytes: number | null;
  /** As the profile says, or the default while it is unknown. */
  packing(): Packing;
  wallNow(): number;
  /** What the hub said that it knows; null: it has said nothing yet. Left out: nothing. */
  hubKnows?(feature: HubFeature): boolean | null;
  /** Small files around the checkpoint that are not kept with it, by their paths below the watched folder. */
  onBesideLeft?(left: readonly BesideLeft[]): void;
  /** It is captured all the same. */
  onFault?(fault: Fault): void;
  /** Which of several nodes that write the run together it is. */
  group?: GroupMember | null;
}

/**
 * Null when it has been taken already, by whoever looked at it at the same time.
 * Faults: DISK_BUDGET, SOURCE_CHANGED, HOSTILE_NAME, TOO_LARGE, NO_SPACE, READ_FAILED, WRITE_FAILED.
 */
export async function takeCapture(
  parts: TakeParts,
  about: { candidate: Candidate; look: Look; run: RunName; root: string | null; priority?: number },
): Promise<Capture | null> {
  const { ledger } = parts;
  const { candidate, look, run, root } = about;
  // What is whole goes first.
  const behind = candidate.doubt === undefined ? 0 : -1;
  const priority = (about.priority ?? 0) + ledger.rank(run) + behind;
  return parts.disk.withRoom(
    { run, role: candidate.role, doubt: candidate.doubt, step: candidate.step, sizeBytes: look.sizeBytes },
    async () => {
      if (ledger.knows(candidate.path, look.fingerprint)) return null;
      const capture = await takeSnapshot({
        candidate,
        look,
        run,
        root,
        keepsPlace: parts.hubKnows?.("place") === true,
        ...(parts.onBesideLeft !== undefined && { onBesideLeft: parts.onBesideLeft }),
        group: parts.group ?? null,
        epoch: parts.runs.get(run)?.claim?.epoch ?? null,
        captures: parts.captures,
        traits: parts.traits(),
        partBytes: parts.partBytes,
        packing: parts.packing(),
        startedBy: "queue",
        priority,
        wallNow: parts.wallNow,
      });
      try {
        await ledger.add(capture, look.fingerprint);
      } catch (error) {
        // Most likely the disk is full: its copy must not fill it further.
        await removeOwned("capture", capture.folder);
        throw error;
      }
      try {
        await ledger.rememberSet(candidate.path, look);
      } catch (error) {
        // The ledger has it: it goes on its way, and is most likely not even sent again.
        parts.onFault?.(toFault(error, { op: "capture", subject: candidate.path }));
      }
      return capture;
    },
  );
}
