import type { RunName } from "#protocol/base/names.ts";
import { systemClock } from "../../base/clock.ts";
import type { Capture } from "../../capture/capture.ts";
import { createEnds, type Ends } from "../../capture/ends.ts";
import { createDoubtfulCaptures, type DoubtfulCaptures } from "../../capture/doubtful-captures.ts";
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
import type { StoreSession } from "../agent-store-sessions.ts";
import { createLineOpener } from "../open-lines.ts";
import type { ConsoleReporter } from "../console-reporter.ts";
import { warnOfPace } from "../warn-of-pace.ts";

/** Parts of the agent that uploads need. */
export interface UploadPieces {
  options: AgentOptions;
  sending: SendingParts;
  ledger: Ledger;
  homes: Homes;
  reporter: ConsoleReporter;
  session: Session;
  throttle: Throttle;
  links: Memory;
  /** Upload rate measured at this start, bytes per second; null when it was not measured. */
  probedUp: number | null;
  /** Returns the engine and bucket of a capture; without a capture, those of the node's own bucket. */
  storeSession(item?: Capture): StoreSession | null;
  /** Returns whether the files of a safe capture are kept for copies to replicas. */
  keepForCopies(item: Capture, runs: Runs): Promise<boolean>;
}

/** Parts that `assembleUploads` created. */
export interface AssembledUploads {
  runs: Runs;
  uplink: Uplink;
  uploader: Uploader;
  ends: Ends;
  /** Runs with a checkpoint that this worker made safe since its start. */
  savedRuns: Set<RunName>;
  doubtful: DoubtfulCaptures;
  /** Opens the lines of a run that could not be opened when they began. */
  openLines(run: RunName): Promise<void>;
  linesBegun: Map<RunName, number>;
  openedLines: Map<string, Promise<number | null>>;
}

/** Creates the uploader with the runs that it writes and the rate forecast of the uplink. */
export function assembleUploads(pieces: UploadPieces): AssembledUploads {
  const { options, sending, ledger, homes, reporter } = pieces;
  const uplink = createUplink({
    running: () => {
      const { active } = uploader;
      if (active?.counters == null) return null;
      return { sentBytes: active.counters.sentBytes, tookMs: systemClock.now() - active.startedAt };
    },
    before: () => rateBefore(pieces),
  });
  // A run that only a program named (`tidemark save`) has captures here, and no watched folder.
  const names = new Set([...options.watches, ...ledger.all()].map(({ run }) => run));
  const runs = createRuns([...names], {
    hub: sending.hub,
    group: options.group,
    onOver: reporter.runOver,
    onClaimed: ({ name }, { epoch, branch }) => ledger.noteEpoch(name, epoch, branch),
  });
  const linesBegun = new Map<RunName, number>();
  const openedLines = new Map<string, Promise<number | null>>();
  const openLines = createLineOpener({ runs, ledger, reporter, linesBegun, openedLines });
  const ends = createEnds();
  const savedRuns = new Set<RunName>();
  const doubtful = createDoubtfulCaptures(ledger.all());
  const uploader = createUploader({
    ...sending,
    ledger,
    runs,
    storeSession: pieces.storeSession,
    openLines,
    hubKnows: (feature) => pieces.session.knows(feature),
    homes,
    // A checkpoint that is joined from pieces stays in the bucket of its pieces, so no piece is copied.
    keepForCopies: async (item) => item.piece === undefined && (await pieces.keepForCopies(item, runs)),
    onEnd: (capture) => {
      reporter.uploadEnded(capture);
      if (capture.state === "done") {
        savedRuns.add(capture.run);
        doubtful.noteStored(capture);
      }
      ends.tell(capture);
      warnOfPace({ ledger, uplink, reporter }, capture);
    },
    onSent: uplink.add,
    onWaiting: reporter.waitingFor,
  });
  return { runs, uplink, uploader, ends, savedRuns, doubtful, openLines, linesBegun, openedLines };
}

/** Returns the rate of the uplink as far as it is known before the first upload, bytes per second; null when it is not. */
function rateBefore({ session, links, probedUp, throttle }: UploadPieces): number | null {
  const { store } = session;
  const known = store === null ? null : links.recall({ ...store, direction: "up" });
  const rate = probedUp ?? known?.bytesPerSecond ?? null;
  const limit = throttle.limits().up;
  return rate !== null && limit > 0 ? Math.min(rate, limit) : rate;
}
