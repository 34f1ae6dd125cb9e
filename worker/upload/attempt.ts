import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { isFault, type Fault } from "#protocol/faults/fault.ts";
import type { ClaimAnswer, NodeStore } from "#protocol/wire/hello.ts";
import type { Capture } from "../capture/capture.ts";
import type { Hub } from "../hub-link/hub.ts";
import type { Engine } from "../transfer/engine.ts";
import { measuredOf } from "../transfer/progress/measured-of.ts";
import type { CommitVerdict, LateCommits } from "./commit-late.ts";
import type { Endings } from "./end-upload.ts";
import { IS_HUB } from "./judge-failure.ts";
import type { Recovery } from "./recovery.ts";
import { commit, sendCapture, withDoubt, type UploadJob } from "./upload.ts";
import type { UploadState } from "./upload-state.ts";
import type { UploaderParts } from "./uploader-parts.ts";

/** Parts of an attempt. */
export interface AttemptParts {
  parts: UploaderParts;
  state: UploadState;
  recovery: Recovery;
  endings: Endings;
  /** Takes captures whose bytes are all sent and that cannot be committed yet. */
  late: Pick<LateCommits, "keep">;
  judge(item: Capture): Promise<CommitVerdict>;
  introduce(item: Capture): Promise<ClaimAnswer>;
  /** Called when the capture has become the active one. */
  onBegin(): void;
}

/** The store of one attempt and the engine that sends to it. */
interface Target {
  engine: Engine;
  store: NodeStore;
}

/**
 * Returns a function that sends one capture to one bucket and commits it. Failures go to recovery; the promise rejects only
 * with faults that end this node.
 */
export function createAttempt(about: AttemptParts): (item: Capture, target: Target) => Promise<void> {
  const { parts, state, recovery } = about;
  const { ledger, hub, clock, signal } = parts;
  return async (item, target) => {
    const stop = new AbortController();
    const watched = parts.homes?.watch(item, target.engine) ?? null;
    const both = AbortSignal.any([stop.signal, signal, ...(watched === null ? [] : [watched.signal])]);
    const { promise: ended, resolve: sayEnded } = Promise.withResolvers<void>();
    state.stop = { controller: stop, ended };
    await ledger.move(item.id, "running", { by: "node", at: parts.wallNow() });
    state.active = { capture: item, counters: null, startedAt: clock.now() };
    about.onBegin();
    try {
      const claim = await about.introduce(item);
      const job: UploadJob = {
        capture: item,
        claim,
        node: parts.node(),
        store: target.store,
        hub,
        journals: parts.journals,
        signal: both,
        onStart: (counters) => {
          state.active = { capture: item, counters, startedAt: clock.now() };
          watched?.follow(counters);
        },
      };
      const manifest = await sendCapture(target.engine, job);
      watched?.end();
      await finish(about, { item, manifest, store: target.store, stopped: both });
    } catch (error) {
      await keepCounts(about, item);
      const away = watched?.away() ?? null;
      if (away !== null && !stop.signal.aborted && !signal.aborted) {
        if (await recovery.moveOn(item, away)) return;
        await recovery.afterFailure(item, { error: away, stopped: false, renewed: false });
        return;
      }
      const renewed = await recovery.renewIfLost(item, error);
      await recovery.afterFailure(item, { error, stopped: stop.signal.aborted, renewed });
    } finally {
      watched?.end();
      state.active = null;
      state.stop = null;
      sayEnded();
    }
  };
}

/** Commits a capture whose bytes are all sent, or keeps the commit until the hub is back or all files of its step are known. */
async function finish(
  { parts, state, recovery, endings, late, judge }: AttemptParts,
  { item, manifest, store, stopped }: { item: Capture; manifest: Manifest; store: NodeStore; stopped: AbortSignal },
): Promise<void> {
  const { counters = null, startedAt = parts.clock.now() } = state.active ?? {};
  parts.onSent(counters?.sentBytes ?? 0, parts.clock.now() - startedAt);
  await keepCounts({ parts, state }, item);
  if ((await judge(item)) !== "commit") {
    late.keep({ item, manifest, counters, fault: null });
    state.tries = 0;
    return;
  }
  const fault = await tryToCommit(parts.hub, withDoubt(manifest, item.doubt), stopped);
  if (fault === null) {
    parts.homes?.noteBack(store.profileId);
    await endings.endSafe(item);
  } else if (!IS_HUB.has(fault.code) && (await recovery.moveOn(item, fault))) return;
  else {
    late.keep({ item, manifest, counters, fault });
    state.waitingFor = fault;
    parts.onWaiting(fault);
  }
  state.tries = 0;
}

/** Adds the bytes and retries of the attempt to those of the capture. */
async function keepCounts({ parts, state }: Pick<AttemptParts, "parts" | "state">, item: Capture): Promise<void> {
  const counters = state.active?.counters;
  if (counters == null || counters.sentBytes + counters.retries === 0) return;
  const partBytes = item.files.reduce((most, file) => Math.max(most, Math.min(file.partBytes, file.sizeBytes)), 0);
  const measured = measuredOf(counters, { engine: parts.storeSession(item)?.engine ?? null, partBytes });
  const counts = {
    sentBytes: item.sentBytes + counters.sentBytes,
    retries: item.retries + counters.retries,
    ...(measured === null ? {} : { measured }),
  };
  // A full disk delays this note only: the capture can be committed anyway, and then frees its space.
  await parts.ledger.update(item.id, counts).catch(() => undefined);
  state.active = { capture: item, counters: null, startedAt: parts.clock.now() };
}

/** Commits a checkpoint. Returns null when it is safe, and the fault when the hub is away. */
export async function tryToCommit(hub: Hub, manifest: Manifest, stopped: AbortSignal): Promise<Fault | null> {
  try {
    await commit(hub, manifest);
    return null;
  } catch (error) {
    if (stopped.aborted || !isFault(error) || error.retry === "never") throw error;
    return error;
  }
}
