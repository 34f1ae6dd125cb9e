import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import type { NodeStore } from "#protocol/wire/hello.ts";
import { isEnded, mayMove, type MoveBy, type TransferState } from "#protocol/wire/transfer.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { createBell } from "../base/wakeable-sleep.ts";
import { jitter } from "../base/breaker.ts";
import type { Engine } from "../transfer/engine.ts";
import { measuredOf } from "../transfer/progress/measured-of.ts";
import { isFatal } from "../hub-link/stream.ts";
import { createAhead } from "./ahead.ts";
import type { Capture } from "../capture/capture.ts";
import { createEpochCheck } from "./check-epoch.ts";
import { createLateCommits } from "./commit-late.ts";
import { FORGOTTEN, IS_HUB, LOST, mayRequeue } from "./judge-failure.ts";
import { createSettling, isHopeless } from "./settle-ended.ts";
import { nextToUpload, overtakenBy, supersededBy } from "../capture/ledger.ts";
import { createRefusedUploads } from "./retry-refused.ts";
import { newAttempt } from "../capture/snapshot.ts";
import { createSteering } from "./steer-upload.ts";
import type { Uploader, UploaderParts } from "./uploader-parts.ts";
import { announce, commit, journalOf, prepareCapture, sendCapture, type UploadJob } from "./upload.ts";

const MOST_RENEWALS = 2;
const IDLE_MS = 10_000;
const DRAIN_LOOK_MS = 50;

/**
 * Takes captures from the ledger, one at a time, oldest first, and makes each safe. Waiting ones that a newer waiting
 * one of the same run has overtaken are passed over; the one under way never is. With the hub away it sends what has its
 * signatures in hand, keeps the queue, and commits when the hub is back; nothing is lost by waiting.
 */
export function createUploader(given: UploaderParts): Uploader {
  // When one of the two loops ends with a fault, so does the other.
  const own = new AbortController();
  const parts: UploaderParts = { ...given, signal: AbortSignal.any([given.signal, own.signal]) };
  const { ledger, runs, hub, clock, signal } = parts;
  const checkEpoch = createEpochCheck(ledger);
  const state: {
    active: Uploader["active"];
    waitingFor: Fault | null;
    stop: { controller: AbortController; ended: Promise<void> } | null;
    tries: number;
    renewals: Map<string, number>;
    isDraining: boolean;
  } = {
    active: null,
    waitingFor: null,
    stop: null,
    tries: 0,
    renewals: new Map(),
    isDraining: false,
  };
  const bell = createBell(clock, signal);
  const late = createLateCommits({
    clock,
    signal,
    commit: (manifest) => tryToCommit(manifest, signal),
    onSafe: (item) => endSafe(item),
    onFailure: async (item, error) => {
      await afterFailure(item, { error, stopped: false, renewed: await renewIfLost(item, error) });
      bell.ring();
    },
  });
  const uncommitted = late.waiting;
  const settling = createSettling(parts);
  const refused = createRefusedUploads(parts);

  const end = async (item: Capture, to: TransferState, about: { by: MoveBy; fault?: Fault }) => {
    const { by, fault } = about;
    const at = parts.wallNow();
    await ahead.drop(item.id);
    // The other loop may have passed it over meanwhile.
    if (by === "policy" && !mayMove(item.state, to, by)) return;
    await ledger.move(item.id, to, { by, at, ...(fault === undefined ? {} : { fault: fault.toData() }) });
    await settling.settle(item.id);
  };

  const upload = async (item: Capture, bench: { engine: Engine; store: NodeStore }) => {
    const stop = new AbortController();
    const watched = parts.homes?.watch(item, bench.engine) ?? null;
    const both = AbortSignal.any([stop.signal, signal, ...(watched === null ? [] : [watched.signal])]);
    const { promise: ended, resolve: sayEnded } = Promise.withResolvers<void>();
    state.stop = { controller: stop, ended };
    await ledger.move(item.id, "running", { by: "node", at: parts.wallNow() });
    state.active = { capture: item, tally: null, startedAt: clock.now() };
    ahead.look();
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
          watched?.follow(tally);
        },
      };
      const manifest = await sendCapture(bench.engine, job);
      watched?.end();
      const { tally, startedAt } = state.active;
      parts.onSent(tally?.sentBytes ?? 0, clock.now() - startedAt);
      await keepCounts(item);
      const fault = await tryToCommit(manifest, both);
      if (fault === null) {
        parts.homes?.noteBack(bench.store.profileId);
        await endSafe(item);
      } else if (!IS_HUB.has(fault.code) && (await moveOn(item, fault))) return;
      else {
        late.keep({ item, manifest, tally, fault });
        state.waitingFor = fault;
        parts.onWaiting(fault);
      }
      state.tries = 0;
    } catch (error) {
      await keepCounts(item);
      const away = watched?.away() ?? null;
      if (away !== null && !stop.signal.aborted && !signal.aborted) {
        if (await moveOn(item, away)) return;
        await afterFailure(item, { error: away, stopped: false, renewed: false });
        return;
      }
      const renewed = await renewIfLost(item, error);
      await afterFailure(item, { error, stopped: stop.signal.aborted, renewed });
    } finally {
      watched?.end();
      state.active = null;
      state.stop = null;
      sayEnded();
    }
  };

  const keepCounts = async (item: Capture) => {
    const tally = state.active?.tally;
    if (tally == null || tally.sentBytes + tally.retries === 0) return;
    const partBytes = item.files.reduce((most, file) => Math.max(most, Math.min(file.partBytes, file.sizeBytes)), 0);
    const measured = measuredOf(tally, { engine: parts.bench(item)?.engine ?? null, partBytes });
    const counts = {
      sentBytes: item.sentBytes + tally.sentBytes,
      retries: item.retries + tally.retries,
      ...(measured === null ? {} : { measured }),
    };
    // On a full disk they are written later: what is sent can be committed all the same, and then makes room.
    await ledger.update(item.id, counts).catch(() => undefined);
    state.active = { capture: item, tally: null, startedAt: clock.now() };
  };

  const endSafe = async (item: Capture) => {
    await end(item, "done", { by: "node" });
    for (const older of overtakenBy(item, ledger.all())) await end(older, "superseded", { by: "policy" });
    state.waitingFor = null;
  };

  /** Null when it is safe, the fault when the hub is away. */
  const tryToCommit = async (manifest: Manifest, stopped: AbortSignal): Promise<Fault | null> => {
    try {
      await commit(hub, manifest);
      return null;
    } catch (error) {
      if (stopped.aborted || !isFault(error) || error.retry === "never") throw error;
      return error;
    }
  };

  /**
   * Objects that are gone or are not ours cannot be mended under their keys: the capture is sent anew under fresh ones. What
   * the hub forgot is announced again, and goes on with the parts it has.
   */
  const renewIfLost = async (item: Capture, error: unknown): Promise<boolean> => {
    const times = state.renewals.get(item.id) ?? 0;
    if (!isFault(error) || times >= MOST_RENEWALS) return false;
    const isForgotten = FORGOTTEN.has(error.code);
    if (!isForgotten && !LOST.has(error.code)) return false;
    state.renewals.set(item.id, times + 1);
    await ahead.drop(item.id);
    if (isForgotten) {
      await ledger.update(item.id, { announced: false });
      return true;
    }
    await removeOwned("journal", journalOf(parts.journals, item));
    await ledger.update(item.id, { attempt: newAttempt(), announced: false });
    return true;
  };

  /** Its bucket is out of reach: it goes to the next home under a new attempt. False when there is none that can be reached. */
  const moveOn = async (item: Capture, fault: Fault): Promise<boolean> => {
    const from = item.home ?? parts.bench()?.store.profileId ?? "";
    const to = (await parts.homes?.elsewhere(item.run, from, fault)) ?? null;
    if (to === null) return false;
    await rehome(item, to);
    if (item.state === "running") await ledger.move(item.id, "waiting", { by: "node", at: parts.wallNow() });
    bell.ring();
    return true;
  };

  const rehome = async (item: Capture, to: string) => {
    await ahead.drop(item.id);
    await removeOwned("journal", journalOf(parts.journals, item));
    await ledger.update(item.id, { attempt: newAttempt(), announced: false, home: to });
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
    checkEpoch(item, claim.epoch);
    if (item.epoch === null) await ledger.update(item.id, { epoch: claim.epoch });
    if (!item.announced && parts.homes !== undefined) {
      const home = await parts.homes.choose(item.run, item.home ?? null);
      if (home !== (item.home ?? null)) await ledger.update(item.id, { home });
    }
    if (!item.announced) {
      const sealKeyId = parts.bench(item)?.store.sealing?.keyId ?? null;
      await announce(hub, item, { writerEpoch: claim.epoch, sealKeyId });
      await ledger.update(item.id, { announced: true });
    }
    return claim;
  };

  const fail = async (item: Capture, fault: Fault) => {
    // A capture of an earlier epoch does not speak for the present one.
    const isPresent = item.epoch === null || item.epoch === runs.get(item.run)?.claim?.epoch;
    if (fault.code === "EPOCH_OVER" && isPresent) runs.end(item.run, fault);
    refused.note(item, fault.code);
    await end(item, "failed", { by: "node", fault });
  };

  const ahead = createAhead({
    ledger,
    hub,
    clock,
    signal,
    introduce,
    onRefused: fail,
    isBusy: () => state.active !== null,
    sign: async (item, stop) => {
      const claim = await introduce(item);
      const bench = parts.bench(item);
      if (bench === null) return;
      const { store, engine } = bench;
      await prepareCapture(engine, { capture: item, claim, store, journals: parts.journals, signal: stop });
    },
  });

  const step = async (): Promise<"again" | "idle"> => {
    await settling.again();
    if (!state.isDraining) await refused.retry();
    const bench = parts.bench();
    if (bench === null) return "idle";
    const away = await ahead.announceAll();
    const announced = () => ledger.all().filter((item) => item.announced);
    for (const item of supersededBy(announced())) await end(item, "superseded", { by: "policy" });
    const order = state.isDraining ? "least left" : "oldest";
    const item = nextToUpload(
      announced().filter(({ id, run }) => !ledger.isHeld(run) && (hub.isUp || ahead.isReady(id))),
      order,
    );
    if (item === null) {
      if (away !== null) throw away;
      return "idle";
    }
    await ahead.settled(item.id);
    // A person may have had a wish for it meanwhile.
    if (item.state !== "waiting") return "again";
    // It was to go where nothing can be reached any more.
    const outOfReach = parts.homes?.isAway(item.run, item.home ?? bench.store.profileId) ?? null;
    if (outOfReach !== null && (await moveOn(item, outOfReach))) return "again";
    await upload(item, parts.bench(item) ?? bench);
    return "again";
  };

  /** After something unexpected no capture may stay behind as running for ever. */
  const letGo = async () => {
    for (const item of ledger.all()) {
      if (item.state === "running" && !uncommitted.has(item.id))
        await ledger.move(item.id, "waiting", { by: "node", at: parts.wallNow() });
    }
  };

  const retryFailed = async () => {
    for (const item of ledger.all()) {
      if (item.state !== "failed" || item.fault === null || isHopeless(item.fault.code)) continue;
      await ledger.move(item.id, "waiting", { by: "node", at: parts.wallNow() });
    }
  };

  /** Makes way for one that can be safe sooner. What was sent of it stays sent. */
  const giveWay = async () => {
    const { active, stop } = state;
    if (active === null || stop === null) return;
    const left = active.capture.sizeBytes - (active.tally?.bytesSure ?? 0);
    const free = ledger.all().filter(({ run }) => !ledger.isHeld(run));
    const sooner = nextToUpload(free, "least left");
    if (sooner === null || sooner.sizeBytes >= left) return;
    stop.controller.abort(new Fault("CANCELLED"));
    await stop.ended;
    const { id } = active.capture;
    if (ledger.get(id)?.state === "running" && !uncommitted.has(id)) {
      await ledger.move(id, "waiting", { by: "node", at: parts.wallNow() });
    }
  };

  const steer = createSteering({
    ledger,
    wallNow: parts.wallNow,
    letGo: async (item) => {
      const stop = state.active?.capture.id === item.id ? state.stop : null;
      stop?.controller.abort(new Fault("CANCELLED"));
      await stop?.ended;
      await late.drop(item.id);
    },
    cancel: (item) => end(item, "cancelled", { by: "person", fault: new Fault("CANCELLED") }),
  });

  const keepUploading = async () => {
    while (!signal.aborted) {
      try {
        if ((await step()) === "idle") await bell.wait(IDLE_MS);
      } catch (error) {
        if (signal.aborted) return;
        if (isFatal(error)) throw error;
        const fault = toFault(error, { op: "upload" });
        await letGo();
        state.waitingFor = fault;
        parts.onWaiting(fault);
        await bell.wait(500 + jitter(clock, ++state.tries));
      }
    }
  };

  return {
    get active() {
      return state.active;
    },
    uncommitted,
    get waitingFor() {
      return state.waitingFor;
    },
    retryFailed: async () => {
      await retryFailed();
      bell.ring();
    },
    drain: async () => {
      state.isDraining = true;
      await giveWay();
      bell.ring();
      const isLeft = () => ledger.all().some((item) => item.state === "waiting" || item.state === "running");
      while (isLeft() && !signal.aborted) {
        await clock.sleep(DRAIN_LOOK_MS, signal).catch(() => undefined);
        // A program that still runs may have saved something small meanwhile.
        await giveWay();
      }
    },
    passOver: async (captures) => {
      for (const item of captures)
        if (mayMove(item.state, "superseded", "policy")) await end(item, "superseded", { by: "policy" });
    },
    wake: () => {
      bell.ring();
      late.wake();
      ahead.look();
    },
    run: async () => {
      await retryFailed();
      for (const item of ledger.all()) if (isEnded(item.state)) await settling.settle(item.id);
      const failures: unknown[] = [];
      const loops = [keepUploading(), late.run()].map((loop) =>
        loop.catch((error: unknown) => {
          failures.push(error);
          own.abort(new Fault("CANCELLED"));
        }),
      );
      await Promise.all(loops);
      if (failures.length > 0) throw failures[0];
    },
    steer: async (transferId, wish) => {
      await steer(transferId, wish);
      bell.ring();
    },
  };
}
