import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import type { Fault } from "#protocol/fault.ts";
import type { NodeEventBody } from "#protocol/reports.ts";
import type { StoreTraits } from "#protocol/operations.ts";
import { systemClock, type Clock } from "../engine/clock.ts";
import type { Outbox } from "../link/outbox.ts";
import type { Capture } from "./capture.ts";
import type { Candidate } from "./find.ts";
import type { Disk } from "./disk-budget.ts";
import type { Ledger } from "./ledger.ts";
import type { Look } from "./look.ts";
import type { Runs } from "./runs.ts";
import { createLastSettler, createSettler, hasOpenWriter } from "./settle.ts";
import { takeSnapshot } from "./snapshot.ts";
import { keepWatching, lookOnce, type Watch, type Watching } from "./watch.ts";

/** From a name in a watched folder to a capture in the ledger. */
export interface Capturing {
  watch: Watch;
  settleMs: number;
  ledger: Ledger;
  runs: Runs;
  outbox: Outbox;
  captures: string;
  /** Of the store, or a guess while it is unknown: the upload plans again when it was wrong. */
  traits(): StoreTraits;
  partBytes: number | null;
  disk: Disk;
  signal: AbortSignal;
  /** Fires before `signal` when no more captures are wanted. */
  until: AbortSignal;
  /** Then: how the program that wrote them ended; null when it may go on writing. */
  over(): ProgramOver | null;
  clock?: Clock;
  wallNow(): number;
  onCaptured(capture: Capture): void;
  onPassedOver(candidate: Candidate): void;
  onRefused(candidate: Candidate, fault: Fault): void;
  onFault(fault: Fault): void;
}

/** `crashed`: it may have left half of something that does not say so itself. */
export type ProgramOver = "done" | "crashed";

/** A refusal for one of these is for good; the others (a full disk) are looked at again. */
const FOR_GOOD: ReadonlySet<string> = new Set(["HOSTILE_NAME", "TOO_LARGE"]);
const TRY_AGAIN_MS = 60_000;

/** Captures until no more are wanted, and then what a program that has ended left. */
export async function keepCapturing(capturing: Capturing): Promise<void> {
  const { watch, ledger, runs, outbox, signal, until, wallNow } = capturing;
  const clock = capturing.clock ?? systemClock;
  const refusals = new Map<string, { what: string; at: number }>();
  const settler = createSettler({ settleMs: capturing.settleMs, now: clock.now, wallNow, hasWriter: hasOpenWriter });

  const isResting = (path: string) => {
    const refusal = refusals.get(path);
    return refusal !== undefined && clock.now() - refusal.at < TRY_AGAIN_MS;
  };
  const refuse = async (candidate: Candidate, about: { look: Look | null; fault: Fault }) => {
    const { look, fault } = about;
    const what = `${fault.code} ${look?.fingerprint ?? ""}`;
    const before = refusals.get(candidate.path);
    refusals.set(candidate.path, { what, at: clock.now() });
    if (look !== null && FOR_GOOD.has(fault.code)) await ledger.remember(candidate.path, look.fingerprint);
    if (before?.what === what) return;
    capturing.onRefused(candidate, fault);
    await outbox.add({
      type: "capture-refused",
      run: watch.run,
      path: candidate.path.slice(-1024),
      fault: fault.toData(),
    });
  };
  const watching: Watching = {
    watch,
    settler,
    clock,
    signal: until,
    knows: (path, fingerprint) => ledger.knows(path, fingerprint) || isResting(path),
    onSeen: (newest, look) => {
      const run = runs.get(watch.run);
      if (run !== undefined && look.files.length > 0) run.seen = { step: newest.step, at: Math.round(look.newestMs) };
    },
    onPassedOver: async (candidate, look) => {
      await outbox.add(passedOver(watch, { candidate, look, at: wallNow() }));
      await ledger.remember(candidate.path, look.fingerprint);
      capturing.onPassedOver(candidate);
    },
    onRefused: refuse,
    onFault: capturing.onFault,
    onFinished: async (candidate, look) => {
      const wanted = { run: watch.run, step: candidate.step, sizeBytes: look.sizeBytes };
      const taken = await capturing.disk.withRoom(wanted, async () => {
        const capture = await takeSnapshot({
          candidate,
          look,
          run: watch.run,
          epoch: runs.get(watch.run)?.claim?.epoch ?? null,
          captures: capturing.captures,
          traits: capturing.traits(),
          partBytes: capturing.partBytes,
          startedBy: "queue",
          wallNow,
        });
        try {
          await ledger.add(capture, look.fingerprint);
        } catch (error) {
          // Most likely the disk is full: its copy must not fill it further.
          await rm(capture.folder, { recursive: true, force: true });
          throw error;
        }
        return capture;
      });
      capturing.onCaptured(taken);
    },
  };
  await keepWatching(watching);
  const how = capturing.over();
  if (how !== null && !signal.aborted) await lookOnce({ ...watching, signal, settler: createLastSettler(how) });
}

/**
 * History has no gaps: a checkpoint that was never captured because a newer one was finished as well ends as superseded. Its
 * ids are made from what it is, so that a repetition after a kill is one entry.
 */
function passedOver(watch: Watch, about: { candidate: Candidate; look: Look; at: number }): NodeEventBody {
  const { candidate, look, at } = about;
  const name = createHash("sha256").update(`${candidate.path}\0${look.fingerprint}`).digest("hex").slice(0, 32);
  return {
    type: "transfer-ended",
    transferId: `passed-${name}`,
    direction: "upload",
    state: "superseded",
    checkpointId: `passed-${name}`,
    run: watch.run,
    step: candidate.step,
    bytes: look.sizeBytes,
    files: look.files.length,
    sentBytes: 0,
    startedAt: Math.round(at),
    retries: 0,
    connections: 0,
    startedBy: "queue",
    fault: null,
  };
}
