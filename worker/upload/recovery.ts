import { isFault, toFault, type Fault } from "#protocol/faults/fault.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { jitter } from "../base/breaker.ts";
import type { WakeableSleep } from "../base/wakeable-sleep.ts";
import type { Capture } from "../capture/capture.ts";
import { newAttempt } from "../capture/snapshot.ts";
import { isFatal } from "../hub-link/stream.ts";
import type { Endings } from "./end-upload.ts";
import { ENDS_RUN, FORGOTTEN, LOST, mayRequeue } from "./judge-failure.ts";
import type { RefusedUploads } from "./retry-refused.ts";
import { journalOf } from "./upload.ts";
import type { UploadState } from "./upload-state.ts";
import type { UploaderParts } from "./uploader-parts.ts";

/** Decides what a failed attempt means: send under fresh keys, send to another bucket, wait and try again, or fail. */
export interface Recovery {
  /**
   * Prepares a new attempt where the old one cannot be continued. Objects that are gone or foreign cannot be repaired under
   * their keys, so the capture is sent again under fresh ones. A capture that the hub forgot is announced again, and continues
   * with the parts it has. Returns whether a new attempt was prepared.
   */
  renewIfLost(item: Capture, error: unknown): Promise<boolean>;
  /** Moves the capture to the next bucket under a new attempt. Returns false when no other can be reached. */
  moveOn(item: Capture, fault: Fault): Promise<boolean>;
  /** Requeues or fails the capture. `stopped`: a person paused or cancelled it. Faults: those that end this node. */
  afterFailure(item: Capture, about: { error: unknown; stopped: boolean; renewed: boolean }): Promise<void>;
  /** Ends the capture as failed. */
  fail(item: Capture, fault: Fault): Promise<void>;
}

/** Renewals of one capture before its failure is final. */
const MOST_RENEWALS = 2;

/** Parts of a recovery. */
export interface RecoveryParts {
  parts: UploaderParts;
  state: UploadState;
  wakeable: WakeableSleep;
  endings: Endings;
  refused: RefusedUploads;
  stopPreparing(id: string): Promise<void>;
}

/** Creates the recovery of one uploader. Counts of renewals are kept in memory only. */
export function createRecovery({ parts, state, wakeable, endings, refused, stopPreparing }: RecoveryParts): Recovery {
  const { ledger, runs, clock, signal } = parts;
  const renewals = new Map<string, number>();
  // Another node of the group may have begun a new line; a hub that does not answer has not.
  const hasNewLine = (run: string) =>
    runs.joinLine(run).catch((error: unknown) => {
      if (isFault(error)) return false;
      throw error;
    });
  /** Sends a piece of a new line under the epoch of that line, which this node has just joined. */
  const sendInLine = async (item: Capture) => {
    await stopPreparing(item.id);
    await removeOwned("journal", journalOf(parts.journals, item));
    const epoch = runs.get(item.run)?.claim?.epoch ?? null;
    await ledger.update(item.id, { epoch, newLine: null, attempt: newAttempt(), announced: false });
    if (item.state === "running") await ledger.move(item.id, "waiting", { by: "node", at: parts.wallNow() });
    wakeable.wake();
  };
  const fail: Recovery["fail"] = async (item, fault) => {
    // A capture of an earlier epoch does not end the present one.
    const isPresent = item.epoch === null || item.epoch === runs.get(item.run)?.claim?.epoch;
    if (ENDS_RUN.has(fault.code) && isPresent) {
      const isLine = fault.code === "EPOCH_OVER" && (await hasNewLine(item.run));
      if (!isLine) runs.end(item.run, fault);
      // An older hub refuses every earlier epoch, so nothing shows there of which line it is.
      else if (parts.hubKnows?.("earlier-line") === true) return sendInLine(item);
    }
    refused.note(item, fault.code);
    await endings.end(item, "failed", { by: "node", fault });
  };
  return {
    fail,
    renewIfLost: async (item, error) => {
      const times = renewals.get(item.id) ?? 0;
      if (!isFault(error) || times >= MOST_RENEWALS) return false;
      const isForgotten = FORGOTTEN.has(error.code);
      if (!isForgotten && !LOST.has(error.code)) return false;
      renewals.set(item.id, times + 1);
      await stopPreparing(item.id);
      if (isForgotten) {
        await ledger.update(item.id, { announced: false });
        return true;
      }
      await removeOwned("journal", journalOf(parts.journals, item));
      await ledger.update(item.id, { attempt: newAttempt(), announced: false });
      return true;
    },
    moveOn: async (item, fault) => {
      const from = item.home ?? parts.storeSession()?.store.profileId ?? "";
      const to = (await parts.homes?.elsewhere(item.run, from, fault)) ?? null;
      if (to === null) return false;
      await stopPreparing(item.id);
      await removeOwned("journal", journalOf(parts.journals, item));
      await ledger.update(item.id, { attempt: newAttempt(), announced: false, home: to });
      if (item.state === "running") await ledger.move(item.id, "waiting", { by: "node", at: parts.wallNow() });
      wakeable.wake();
      return true;
    },
    afterFailure: async (item, { error, stopped, renewed }) => {
      if (signal.aborted) return;
      // The person who stopped it moves it to its next state.
      if (stopped) return;
      const fault = toFault(error, { op: "upload", subject: item.run });
      if (isFatal(fault)) throw fault;
      if (renewed || mayRequeue(fault)) {
        await ledger.move(item.id, "waiting", { by: "node", at: parts.wallNow(), fault: fault.toData() });
        state.waitingFor = fault;
        parts.onWaiting(fault);
        await clock.sleep(500 + jitter(clock, ++state.tries), signal).catch(() => undefined);
        return;
      }
      await fail(item, fault);
    },
  };
}
