import { rm } from "node:fs/promises";
import { Fault, isFault, toFault, type FaultCode } from "#protocol/fault.ts";
import type { NodeStore } from "#protocol/hello.ts";
import { isEnded, type MoveBy, type TransferState } from "#protocol/transfer.ts";
import { jitter } from "../engine/breaker.ts";
import type { Clock } from "../engine/clock.ts";
import type { Engine } from "../engine/engine.ts";
import type { Tally } from "../engine/tally.ts";
import type { Hub } from "../link/hub.ts";
import type { Outbox } from "../link/outbox.ts";
import { isFatal } from "../link/stream.ts";
import type { Capture } from "./capture.ts";
import { nextToUpload, supersededBy, type Ledger } from "./ledger.ts";
import type { Runs } from "./runs.ts";
import { newAttempt } from "./snapshot.ts";
import { announce, clearUpload, journalOf, commit, sendCapture, type UploadJob } from "./upload.ts";

/**
 * Takes captures from the ledger, one at a time, oldest first, and makes each safe. Waiting ones that a newer waiting
 * one of the same run has overtaken are passed over; the one under way never is. With the hub away it keeps the queue
 * and tries again; nothing is lost by waiting.
 */
export interface Uploader {
  /** Uploads until the signal fires. Faults: NODE_UNKNOWN, NODE_REVOKED. */
  run(): Promise<void>;
  /** Circumstances changed (a new key, a new start): what failed because of them waits again. */
  retryFailed(): Promise<void>;
  /** There is something new in the ledger, or the hub or a person changed something. */
  wake(): void;
  readonly active: { capture: Capture; tally: Tally | null; startedAt: number } | null;
  /** Why the queue does not move, when there is a reason. */
  readonly waitingFor: Fault | null;
  /** Faults: NOT_FOUND, CONFLICT. */
  steer(transferId: string, wish: "cancel" | "pause" | "resume" | "retry"): Promise<void>;
}

export interface UploaderParts {
  ledger: Ledger;
  runs: Runs;
  hub: Hub;
  outbox: Outbox;
  clock: Clock;
  wallNow(): number;
  journals: string;
  node(): { id: string; name: string };
  /** Null until a hello told where the bytes go. */
  bench(): { engine: Engine; store: NodeStore } | null;
  signal: AbortSignal;
  onEnd(capture: Capture): void;
  onWaiting(fault: Fault): void;
}

/** What failed for one of these is not worth keeping: it can never become safe. */
const isHopeless = (code: FaultCode): boolean => code === "SOURCE_CHANGED" || code === "EPOCH_OVER";

/** The store does not have what was sent. */
const LOST: ReadonlySet<FaultCode> = new Set(["NO_SUCH_KEY", "SIZE_MISMATCH", "OBJECT_CHANGED", "ALREADY_EXISTS"]);
const MOST_RENEWALS = 2;

const IDLE_MS = 10_000;
/** These faults say that the upload should be tried again by itself, however long it takes. */
const mayRequeue = (fault: Fault): boolean => fault.retry !== "never" || fault.code === "CLOCK_SKEW";

export function createUploader(parts: UploaderParts): Uploader {
  const { ledger, runs, hub, clock, signal } = parts;
  const state: {
    active: Uploader["active"];
    waitingFor: Fault | null;
    stop: { controller: AbortController; ended: Promise<void> } | null;
    tries: number;
    renewals: Map<string, number>;
  } = {
    active: null,
    waitingFor: null,
    stop: null,
    tries: 0,
    renewals: new Map(),
  };
  let bell: (() => void) | null = null;
  let rung = false;

  const end = async (item: Capture, to: TransferState, about: { by: MoveBy; fault?: Fault }) => {
    const { by, fault } = about;
    const at = parts.wallNow();
    await ledger.move(item.id, to, { by, at, ...(fault === undefined ? {} : { fault: fault.toData() }) });
    await settleEnded(parts, item.id);
  };

  const upload = async (item: Capture, bench: { engine: Engine; store: NodeStore }) => {
    const stop = new AbortController();
    const both = AbortSignal.any([stop.signal, signal]);
    const { promise: ended, resolve: sayEnded } = Promise.withResolvers<void>();
    state.stop = { controller: stop, ended };
    await ledger.move(item.id, "running", { by: "node", at: parts.wallNow() });
    state.active = { capture: item, tally: null, startedAt: clock.now() };
    try {
      const claim = await introduce(item);
      const job: UploadJob = {
        capture: item,
        claim,
        node: parts.node(),
        store: bench.store,
        hub,
        journals: parts.journals,
        signal: both,
        onStart: (tally) => {
          state.active = { capture: item, tally, startedAt: clock.now() };
        },
      };
      const manifest = await sendCapture(bench.engine, job);
      await keepCounts(item);
      await commitWithPatience(manifest, both);
      await end(item, "done", { by: "node" });
      state.tries = 0;
      state.waitingFor = null;
    } catch (error) {
      await keepCounts(item);
      const renewed = await renewIfLost(item, error);
      await afterFailure(item, { error, stopped: stop.signal.aborted, renewed });
    } finally {
      state.active = null;
      state.stop = null;
      sayEnded();
    }
  };

  const keepCounts = async (item: Capture) => {
    const tally = state.active?.tally;
    if (tally == null || tally.sentBytes + tally.retries === 0) return;
    await ledger.update(item.id, {
      sentBytes: item.sentBytes + tally.sentBytes,
      retries: item.retries + tally.retries,
    });
    state.active = { capture: item, tally: null, startedAt: clock.now() };
  };

  /** Bytes are in the bucket; the hub may take its time to come back. */
  const commitWithPatience = async (manifest: Parameters<typeof commit>[1], both: AbortSignal) => {
    for (let tries = 0; ; tries++) {
      try {
        await commit(hub, manifest);
        return;
      } catch (error) {
        if (both.aborted || !isFault(error) || error.retry === "never") throw error;
        state.waitingFor = error;
        parts.onWaiting(error);
        await clock.sleep(200 + jitter(clock, tries), both);
      }
    }
  };

  /** Objects that are gone or are not ours cannot be mended under their keys: the capture is sent anew under fresh ones. */
  const renewIfLost = async (item: Capture, error: unknown): Promise<boolean> => {
    const times = state.renewals.get(item.id) ?? 0;
    if (!isFault(error) || !LOST.has(error.code) || times >= MOST_RENEWALS) return false;
    state.renewals.set(item.id, times + 1);
    await rm(journalOf(parts.journals, item), { force: true });
    await ledger.update(item.id, { attempt: newAttempt(), announced: false });
    return true;
  };

  const afterFailure = async (item: Capture, about: { error: unknown; stopped: boolean; renewed: boolean }) => {
    if (signal.aborted) return;
    // A person wants it paused or cancelled, and moves it now.
    if (about.stopped) return;
    const fault = toFault(about.error, { op: "upload", subject: item.run });
    if (isFatal(fault)) throw fault;
    if (about.renewed || mayRequeue(fault)) {
      await ledger.move(item.id, "waiting", { by: "node", at: parts.wallNow(), fault: fault.toData() });
      state.waitingFor = fault;
      parts.onWaiting(fault);
      await clock.sleep(500 + jitter(clock, ++state.tries), signal).catch(() => undefined);
      return;
    }
    await fail(item, fault);
  };

  /** Claims the epoch of its run the first time, and tells the hub of the capture. Returns the claim. */
  const introduce = async (item: Capture) => {
    const claim = await runs.epochOf(item.run);
    if (item.epoch !== null && item.epoch !== claim.epoch) {
      const detail = `captured in epoch ${item.epoch}, now it is ${claim.epoch}`;
      throw new Fault("EPOCH_OVER", { op: "upload", subject: item.run, detail });
    }
    if (item.epoch === null) await ledger.update(item.id, { epoch: claim.epoch });
    if (!item.announced) {
      await announce(hub, item, claim.epoch);
      await ledger.update(item.id, { announced: true });
    }
    return claim;
  };

  const announceWaiting = async () => {
    for (const item of ledger.all()) {
      if (item.announced || item.state !== "waiting") continue;
      try {
        await introduce(item);
      } catch (error) {
        const fault = toFault(error, { op: "announce", subject: item.run });
        if (isFatal(fault) || fault.retry !== "never" || signal.aborted) throw fault;
        await fail(item, fault);
      }
    }
  };

  const fail = async (item: Capture, fault: Fault) => {
    // A capture of an earlier epoch does not speak for the present one.
    const isPresent = item.epoch === null || item.epoch === runs.get(item.run)?.claim?.epoch;
    if (fault.code === "EPOCH_OVER" && isPresent) runs.end(item.run, fault);
    await end(item, "failed", { by: "node", fault });
  };

  const step = async (): Promise<"again" | "idle"> => {
    const bench = parts.bench();
    if (bench === null) return "idle";
    await announceWaiting();
    for (const item of supersededBy(ledger.all())) await end(item, "superseded", { by: "policy" });
    const item = nextToUpload(ledger.all());
    if (item === null) return "idle";
    await upload(item, bench);
    return "again";
  };

  /** After something unexpected no capture may stay behind as running for ever. */
  const letGo = async () => {
    for (const item of ledger.all()) {
      if (item.state === "running") await ledger.move(item.id, "waiting", { by: "node", at: parts.wallNow() });
    }
  };

  const retryFailed = async () => {
    for (const item of ledger.all()) {
      if (item.state !== "failed" || item.fault === null || isHopeless(item.fault.code)) continue;
      await ledger.move(item.id, "waiting", { by: "node", at: parts.wallNow() });
    }
  };

  const sleep = async (ms: number) => {
    if (!rung) {
      const woken = new Promise<void>((resolve) => {
        bell = resolve;
      });
      await Promise.race([woken, clock.sleep(ms, signal).catch(() => undefined)]);
    }
    bell = null;
    rung = false;
  };

  return {
    get active() {
      return state.active;
    },
    get waitingFor() {
      return state.waitingFor;
    },
    retryFailed: async () => {
      await retryFailed();
      rung = true;
      bell?.();
    },
    wake: () => {
      rung = true;
      bell?.();
    },
    run: async () => {
      await retryFailed();
      for (const item of ledger.all()) if (isEnded(item.state)) await settleEnded(parts, item.id);
      while (!signal.aborted) {
        try {
          if ((await step()) === "idle") await sleep(IDLE_MS);
        } catch (error) {
          if (signal.aborted) return;
          if (isFatal(error)) throw error;
          const fault = toFault(error, { op: "upload" });
          await letGo();
          state.waitingFor = fault;
          parts.onWaiting(fault);
          await sleep(500 + jitter(clock, ++state.tries));
        }
      }
    },
    steer: async (transferId, wish) => {
      const item = ledger.byTransfer(transferId);
      if (item === undefined) throw new Fault("NOT_FOUND", { op: wish, subject: transferId });
      const stop = state.active?.capture.id === item.id ? state.stop : null;
      // First let go of the files, then decide: it may have become safe in this moment.
      stop?.controller.abort(new Fault("CANCELLED"));
      await stop?.ended;
      if (wish === "cancel") await end(item, "cancelled", { by: "person", fault: new Fault("CANCELLED") });
      else await ledger.move(item.id, wish === "pause" ? "paused" : "waiting", { by: "person", at: parts.wallNow() });
      rung = true;
      bell?.();
    },
  };
}

/** The last steps of an end: tell the hub, remove the files, forget. Each may be repeated after a kill. */
async function settleEnded(parts: UploaderParts, id: string): Promise<void> {
  const { ledger, outbox } = parts;
  const item = ledger.get(id);
  if (item === undefined || !isEnded(item.state) || item.state === "waiting") return;
  const { state } = item;
  if (state !== "done" && state !== "failed" && state !== "cancelled" && state !== "superseded") return;
  parts.onEnd(item);
  await outbox.add({
    type: "transfer-ended",
    transferId: item.transferId,
    direction: "upload",
    state,
    checkpointId: item.id,
    run: item.run,
    step: item.step,
    bytes: item.sizeBytes,
    files: item.files.length,
    sentBytes: item.sentBytes,
    startedAt: item.startedAt ?? item.capturedAt,
    retries: item.retries,
    connections: parts.bench()?.engine.connections ?? 0,
    startedBy: item.startedBy,
    fault: item.fault,
  });
  // A failed one stays, so that it can be tried again; the next safe one of its run removes it.
  if (state === "failed" && item.fault !== null && !isHopeless(item.fault.code)) return;
  const obsolete =
    state === "done"
      ? ledger.all().filter((old) => old.state === "failed" && old.run === item.run && old.step <= item.step)
      : [];
  for (const gone of [item, ...obsolete]) {
    await clearUpload(parts.bench()?.engine ?? null, { capture: gone, journals: parts.journals, signal: parts.signal });
    await ledger.drop(gone.id);
  }
}
