import { Fault } from "#protocol/faults/fault.ts";
import { formatBytes } from "#protocol/base/units.ts";
import { isEnded, mayMove } from "#protocol/wire/transfer.ts";
import { createWakeableSleep } from "../base/wakeable-sleep.ts";
import type { Capture } from "../capture/capture.ts";
import { createAhead } from "./ahead.ts";
import { createAttempt, tryToCommit } from "./attempt.ts";
import { introduceCapture } from "./introduce.ts";
import { createLateCommits } from "./commit-late.ts";
import { judgeCommit } from "./judge-commit.ts";
import { createEndings } from "./end-upload.ts";
import { createUploadQueue } from "./queue.ts";
import { createRecovery } from "./recovery.ts";
import { createRefusedUploads } from "./retry-refused.ts";
import { createSettling } from "./settle-ended.ts";
import { createSteering } from "./steer-upload.ts";
import { prepareCapture, withDoubt } from "./upload.ts";
import { newUploadState } from "./upload-state.ts";
import type { Uploader, UploaderParts } from "./uploader-parts.ts";

/**
 * Takes captures from the ledger, one at a time, oldest first, and makes each safe. A waiting capture is passed over when a
 * newer waiting one of the same run supersedes it; the active one never is. While the hub is away it sends what is signed
 * already, keeps the queue, and commits when the hub is back. Nothing is lost by waiting.
 *
 * `queue.ts` chooses which capture is next, `attempt.ts` sends one capture to one bucket, `recovery.ts` decides what a failure
 * means. They share `upload-state.ts`.
 */
export function createUploader(given: UploaderParts): Uploader {
  // When one of the two loops ends with a fault, this signal ends the other.
  const own = new AbortController();
  const parts: UploaderParts = { ...given, signal: AbortSignal.any([given.signal, own.signal]) };
  const { ledger, hub, clock, signal } = parts;
  const introduce = (item: Capture) => introduceCapture(parts, item);
  const stopPreparing = (id: string) => ahead.drop(id);
  const state = newUploadState();
  const wakeable = createWakeableSleep(clock, signal);
  const settling = createSettling(parts);
  const refused = createRefusedUploads(parts);
  const endings = createEndings(parts, { state, settling, stopPreparing });
  const recovery = createRecovery({ parts, state, wakeable, endings, refused, stopPreparing });
  const judge = (item: Capture) =>
    judgeCommit(item, { ledger, wallNow: parts.wallNow(), isDraining: state.isDraining });
  const late = createLateCommits({
    clock,
    signal,
    judge,
    commit: ({ item, manifest }) => tryToCommit(hub, withDoubt(manifest, item.doubt), signal),
    onDropped: async (item) => {
      if (item.state === "running") await ledger.move(item.id, "waiting", { by: "node", at: parts.wallNow() });
      await endings.end(item, "superseded", { by: "policy" });
    },
    onSafe: endings.endSafe,
    onFailure: async (item, error) => {
      await recovery.afterFailure(item, { error, stopped: false, renewed: await recovery.renewIfLost(item, error) });
      wakeable.wake();
    },
  });
  const ahead = createAhead({
    ledger,
    hub,
    clock,
    signal,
    introduce,
    onRefused: recovery.fail,
    isBusy: () => state.active !== null,
    sign: async (item, stop) => {
      const claim = await introduce(item);
      const storeSession = parts.storeSession(item);
      if (storeSession === null) return;
      const { store, engine } = storeSession;
      await prepareCapture(engine, { capture: item, claim, store, journals: parts.journals, signal: stop });
    },
  });
  const attempt = createAttempt({ parts, state, recovery, endings, late, judge, introduce, onBegin: ahead.prepare });
  const uncommitted = late.waiting;
  const shared = { parts, state, wakeable, recovery, endings, settling, refused, uncommitted };
  const queue = createUploadQueue({ ...shared, ahead, attempt });
  const steer = createSteering({
    ledger,
    wallNow: parts.wallNow,
    letGo: async (item) => {
      const stop = state.active?.capture.id === item.id ? state.stop : null;
      stop?.controller.abort(new Fault("CANCELLED"));
      await stop?.ended;
      await late.drop(item.id);
    },
    cancel: (item) => endings.end(item, "cancelled", { by: "person", fault: new Fault("CANCELLED") }),
  });

  return {
    get active() {
      return state.active;
    },
    uncommitted,
    get waitingFor() {
      return state.waitingFor;
    },
    retryFailed: async () => {
      await queue.retryFailed();
      wakeable.wake();
    },
    drain: () => {
      const drained = queue.drain();
      // Nothing waits for more files now.
      late.wake();
      return drained;
    },
    passOver: async (captures) => {
      for (const item of captures)
        if (mayMove(item.state, "superseded", "policy"))
          await endings.end(item, "superseded", { by: "policy", ...whyGivenUp(item, parts.runs) });
    },
    wake: () => {
      wakeable.wake();
      late.wake();
      ahead.prepare();
    },
    run: async () => {
      await queue.retryFailed();
      for (const item of ledger.all()) if (isEnded(item.state)) await settling.settle(item.id);
      const failures: unknown[] = [];
      const loops = [queue.run(), late.run()].map((loop) =>
        loop.catch((error: unknown) => {
          failures.push(error);
          own.abort(new Fault("CANCELLED"));
        }),
      );
      await Promise.all(loops);
      if (failures.length > 0) throw failures[0];
    },
    steer: async (transferId, request) => {
      await steer(transferId, request);
      wakeable.wake();
    },
  };
}

/** Returns the reason to tell when the newest checkpoint of a line is given up, because the disk budget has no room for it. */
function whyGivenUp(item: Capture, runs: UploaderParts["runs"]): { fault?: Fault } {
  const now = runs.get(item.run)?.claim?.epoch ?? null;
  if (item.epoch === null || now === null || item.epoch >= now) return {};
  const detail = `it waited to be sent when a new line of training began, and the disk budget has no room for ${formatBytes(item.sizeBytes)} beside that line`;
  return { fault: new Fault("DISK_BUDGET", { op: "upload", subject: item.sourcePath, detail }) };
}
