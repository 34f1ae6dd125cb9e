import type { RunName } from "#protocol/base/names.ts";
import { systemClock } from "../../base/clock.ts";
import type { Capture } from "../../capture/capture.ts";
import { createEnds, type Ends } from "../../capture/ends.ts";
import type { Ledger } from "../../capture/ledger.ts";
import { createRuns, type Runs } from "../../capture/runs.ts";
import { createUplink, type Uplink } from "../../capture/uplink.ts";
import type { Memory } from "../../limits/learned.ts";
import type { Throttle } from "../../limits/throttle.ts";
import type { Session } from "../../hub-link/session.ts";
import type { Homes } from "../../upload/homes.ts";
import { createUploader } from "../../upload/uploader.ts";
import type { SendingParts, Uploader } from "../../upload/uploader-parts.ts";
import type { AgentOptions } from "../agent-options.ts";
import type { Bench } from "../agent-store-sessions.ts";
import type { Narrator } from "../console-reporter.ts";
import { warnOfPace } from "../warn-of-pace.ts";

/** Parts of the agent that uploads need. */
export interface UploadPieces {
  options: AgentOptions;
  sending: SendingParts;
  ledger: Ledger;
  homes: Homes;
  narrator: Narrator;
  session: Session;
  throttle: Throttle;
  links: Memory;
  /** What the uplink did when it was measured at this start, bytes per second; null when it was not. */
  probedUp: number | null;
  /** Where a capture goes; without one: this node's own bucket. */
  bench(item?: Capture): Bench | null;
  /** Whether the files of a safe capture are kept for other homes. */
  keepForCopies(item: Capture, runs: Runs): Promise<boolean>;
}

/** What `assembleUploads` created. */
export interface AssembledUploads {
  runs: Runs;
  uplink: Uplink;
  uploader: Uploader;
  ends: Ends;
  /** Runs of which this life of the worker made something safe. */
  savedRuns: Set<RunName>;
}

/** Creates what uploads captures, with the runs they belong to and the forecast of the uplink. */
export function assembleUploads(pieces: UploadPieces): AssembledUploads {
  const { options, sending, ledger, homes, narrator } = pieces;
  const uplink = createUplink({
    running: () => {
      const { active } = uploader;
      if (active?.tally == null) return null;
      return { sentBytes: active.tally.sentBytes, tookMs: systemClock.now() - active.startedAt };
    },
    before: () => rateBefore(pieces),
  });
  // Those a program named itself have captures here and no folder that is watched.
  const names = new Set([...options.watches, ...ledger.all()].map(({ run }) => run));
  const runs = createRuns([...names], {
    hub: sending.hub,
    group: options.group,
    onOver: narrator.runOver,
    onClaimed: ({ name }, { epoch }) => ledger.noteEpoch(name, epoch),
  });
  const ends = createEnds();
  const savedRuns = new Set<RunName>();
  const uploader = createUploader({
    ...sending,
    ledger,
    runs,
    bench: pieces.bench,
    homes,
    // What is joined from pieces lies where its pieces are.
    keepForCopies: async (item) => item.piece === undefined && (await pieces.keepForCopies(item, runs)),
    onEnd: (capture) => {
      narrator.uploadEnded(capture);
      if (capture.state === "done") savedRuns.add(capture.run);
      ends.tell(capture);
      warnOfPace({ ledger, uplink, narrator }, capture);
    },
    onSent: uplink.add,
    onWaiting: narrator.waitingFor,
  });
  return { runs, uplink, uploader, ends, savedRuns };
}

/** Returns the rate of the uplink as far as it is known before the first upload, bytes per second; null when it is not. */
function rateBefore({ session, links, probedUp, throttle }: UploadPieces): number | null {
  const { store } = session;
  const known = store === null ? null : links.recall({ ...store, direction: "up" });
  const rate = probedUp ?? known?.bytesPerSecond ?? null;
  const limit = throttle.limits().up;
  return rate !== null && limit > 0 ? Math.min(rate, limit) : rate;
}
