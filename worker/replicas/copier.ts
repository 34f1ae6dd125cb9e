import { randomUUID } from "node:crypto";
import { Fault, isFault, toFault, type FaultData } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import type { ClaimAnswer, NodeStore } from "#protocol/wire/hello.ts";
import type { TransferProgress } from "#protocol/wire/reports.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { createBell } from "../base/wakeable-sleep.ts";
import type { Engine } from "../transfer/engine.ts";
import { measuredOf } from "../transfer/progress/measured-of.ts";
import { movementOf, stalledMsOf } from "../transfer/progress/movement-of.ts";
import type { Tally } from "../transfer/progress/transfer-progress.ts";
import { isFatal } from "../hub-link/stream.ts";
import type { Capture } from "../capture/capture.ts";
import { newAttempt } from "../capture/snapshot.ts";
import { journalOf, sendCapture } from "../upload/upload.ts";
import type { SendingParts } from "../upload/uploader-parts.ts";
import type { CopyItem, CopyLedger } from "./copy-ledger.ts";
import type { Homes } from "../upload/homes.ts";

/**
 * Brings what is safe in one home to the others, from the files that were captured. It leaves everything else its turn: nothing
 * of the node's own may wait or move, and what begins meanwhile ends it; what was sent stays sent. The newest checkpoint of a
 * run goes first, and older ones that wait for the same home are passed over. It is also how a home that was out of reach is
 * found to be back.
 */
export interface Copier {
  /** Until the signal fires. Faults: NODE_UNKNOWN, NODE_REVOKED. */
  run(): Promise<void>;
  /** A checkpoint is safe: whether its files are kept for the homes that it is still wanted in. */
  keep(item: Capture, claim: ClaimAnswer | null): Promise<boolean>;
  /** What could go to make room, once per checkpoint. */
  spare(): readonly Capture[];
  /** Gives these up. */
  passOver(captures: readonly Capture[]): Promise<void>;
  has(transferId: string): boolean;
  /** Faults: NOT_FOUND. */
  steer(transferId: string, wish: "cancel" | "pause" | "resume" | "retry"): Promise<void>;
  progress(): TransferProgress[];
  wake(): void;
  readonly isActive: boolean;
}

export interface CopierParts extends SendingParts {
  ledger: CopyLedger;
  homes: Homes;
  own(): NodeStore | null;
  bench(store: NodeStore): { engine: Engine; store: NodeStore };
  /** The node has something of its own to move. */
  isBusy(): boolean;
  /** A person said that uploads of the run wait. */
  isHeld(run: string): boolean;
  onEnd?(item: CopyItem, state: "done" | "failed"): void;
}

const LOOK_MS = 250;
const IDLE_MS = 5_000;
const AFTER_FAILURE_MS = 15_000;
const MOST_RENEWALS = 2;
/** The store does not have what was sent: it is sent anew under fresh keys. */
const LOST: ReadonlySet<FaultCode> = new Set([
  "NO_SUCH_KEY",
  "SIZE_MISMATCH",
  "OBJECT_CHANGED",
  "ALREADY_EXISTS",
  "NOT_FOUND",
]);

interface Active {
  item: CopyItem;
  tally: Tally | null;
  engine: Engine;
  startedAt: number;
  stop: AbortController;
  ended: Promise<void>;
}

export function createCopier(parts: CopierParts): Copier {
  const { ledger, homes, hub, clock, signal } = parts;
  const bell = createBell(clock, signal);
  const state: { active: Active | null } = { active: null };
  /** By transfer: not before, by the clock that only goes up; how often it began anew; what went wrong last. */
  const waits = new Map<string, { until: number; renewals: number; fault: FaultData | null }>();
  const waitOf = (item: CopyItem) => waits.get(item.capture.transferId) ?? { until: 0, renewals: 0, fault: null };

  const drop = async (item: CopyItem) => {
    waits.delete(item.capture.transferId);
    await removeOwned("journal", journalOf(parts.journals, item.capture));
    await ledger.drop(item);
  };

  const tell = async (
    item: CopyItem,
    about: { state: "done" | "failed" | "cancelled" | "superseded"; fault: FaultData | null; active: Active | null },
  ) => {
    const { capture, takenAt } = item;
    const { active, fault } = about;
    const partBytes = capture.files.reduce((most, one) => Math.max(most, Math.min(one.partBytes, one.sizeBytes)), 0);
    const measured = measuredOf(active?.tally ?? null, { engine: active?.engine ?? null, partBytes });
    await parts.outbox.add({
      type: "transfer-ended",
      transferId: capture.transferId,
      direction: "copy",
      state: about.state,
      checkpointId: capture.id,
      run: capture.run,
      step: capture.step,
      bytes: capture.sizeBytes,
      files: capture.files.length,
      sentBytes: capture.sentBytes + (active?.tally?.sentBytes ?? 0),
      startedAt: Math.round(capture.startedAt ?? takenAt),
      retries: capture.retries + (active?.tally?.retries ?? 0),
      connections: active?.engine.gate.width ?? 0,
      startedBy: "queue",
      fault,
      ...(capture.home == null ? {} : { profileId: capture.home }),
      ...(measured === null ? {} : { measured }),
    });
  };

  /** Of what waits for the same home only the newest of each run. */
  const passOverOlder = async () => {
    const all = ledger.all();
    for (const item of all) {
      const { run, home, capturedAt, transferId } = item.capture;
      const isOlder = all.some(
        ({ capture: other }) => other.run === run && other.home === home && other.capturedAt > capturedAt,
      );
      if (!isOlder || state.active?.item.capture.transferId === transferId) continue;
      await tell(item, { state: "superseded", fault: null, active: null });
      await drop(item);
    }
  };

  const next = (): CopyItem | null =>
    ledger
      .all()
      .filter((item) => !item.isPaused && waitOf(item).until <= clock.now() && !parts.isHeld(item.capture.run))
      .toSorted((a, b) => b.capture.capturedAt - a.capture.capturedAt)[0] ?? null;

  const carryOut = async (item: CopyItem) => {
    const { capture } = item;
    const home = capture.home ?? "";
    const store = homes.storeOf(capture.run, home);
    if (store === null) {
      await tell(item, { state: "cancelled", fault: new Fault("CONFLICT", { op: "copy" }).toData(), active: null });
      return drop(item);
    }
    const { engine } = parts.bench(store);
    const stop = new AbortController();
    const yielding = new AbortController();
    const watch = homes.watch(capture, engine);
    const { promise: ended, resolve: sayEnded } = Promise.withResolvers<void>();
    const active: Active = { item, tally: null, engine, startedAt: clock.now(), stop, ended };
    state.active = active;
    const look = setInterval(() => {
      if (parts.isBusy() || parts.isHeld(capture.run)) yielding.abort(new Fault("CANCELLED"));
    }, LOOK_MS);
    const until = AbortSignal.any([stop.signal, yielding.signal, signal, ...(watch === null ? [] : [watch.signal])]);
    try {
      const wish = { checkpointId: capture.id, profileId: home, attempt: capture.attempt };
      const { isWanted } = await hub.ask("beginCopy", (client, limit) =>
        client.node.beginCopy.mutate(wish, { signal: limit }),
      );
      if (!isWanted) {
        await tell(item, { state: "superseded", fault: null, active: null });
        await drop(item);
        return;
      }
      const manifest = await sendCapture(engine, {
        capture,
        claim: { ...item.claim, newest: null },
        node: parts.node(),
        store,
        hub,
        journals: parts.journals,
        signal: until,
        isCopy: true,
        onStart: (tally) => {
          active.tally = tally;
          watch?.follow(tally);
        },
      });
      await hub.ask("commitCopy", (client, limit) => client.node.commitCopy.mutate({ manifest }, { signal: limit }));
      homes.noteBack(home);
      await tell(item, { state: "done", fault: null, active });
      await drop(item);
      parts.onEnd?.(item, "done");
    } catch (error) {
      if (signal.aborted || stop.signal.aborted) return;
      const { tally } = active;
      if (tally !== null) {
        const sentBytes = capture.sentBytes + tally.sentBytes;
        await ledger.count(item, { sentBytes, retries: capture.retries + tally.retries });
      }
      if (yielding.signal.aborted) return;
      const away = watch?.away() ?? null;
      if (away !== null) await homes.elsewhere(capture.run, home, away);
      await afterFailure(item, away ?? toFault(error, { op: "copy", subject: capture.run }));
    } finally {
      clearInterval(look);
      watch?.end();
      state.active = null;
      sayEnded();
    }
  };

  const afterFailure = async (item: CopyItem, fault: Fault) => {
    if (isFatal(fault)) throw fault;
    const wait = waitOf(item);
    const { transferId } = item.capture;
    const isLost = isFault(fault) && LOST.has(fault.code) && wait.renewals < MOST_RENEWALS;
    if (!isLost && fault.retry === "never" && fault.code !== "CLOCK_SKEW") {
      await tell(item, { state: "failed", fault: fault.toData(), active: null });
      await drop(item);
      parts.onEnd?.(item, "failed");
      return;
    }
    if (isLost) {
      await removeOwned("journal", journalOf(parts.journals, item.capture));
      await ledger.setAttempt(item, newAttempt());
    }
    const renewals = wait.renewals + Number(isLost);
    waits.set(transferId, { until: clock.now() + AFTER_FAILURE_MS, renewals, fault: fault.toData() });
  };

  return {
    wake: bell.ring,
    get isActive() {
      return state.active !== null;
    },
    has: (transferId) => ledger.all().some(({ capture }) => capture.transferId === transferId),
    keep: async (item, claim) => {
      const home = item.home ?? parts.own()?.profileId ?? "";
      const owed = homes.owed(item.run, home).filter((profileId) => !ledger.has(item.id, profileId));
      if (owed.length === 0 || claim === null || claim.epoch !== item.epoch)
        return ledger.all().some(({ capture }) => capture.folder === item.folder);
      const { epoch, parent } = claim;
      await ledger.take(
        owed.map((profileId) => ({
          capture: {
            ...item,
            transferId: randomUUID(),
            attempt: newAttempt(),
            home: profileId,
            state: "waiting" as const,
            startedAt: null,
            sentBytes: 0,
            retries: 0,
            measured: undefined,
            fault: null,
          },
          claim: { epoch, parent },
          takenAt: parts.wallNow(),
          isPaused: false,
          fault: null,
        })),
      );
      bell.ring();
      return true;
    },
    spare: () => {
      const moving = state.active?.item.capture.folder;
      const byFolder = new Map(ledger.all().map(({ capture }) => [capture.folder, capture]));
      return [...byFolder.values()].filter(({ folder }) => folder !== moving);
    },
    passOver: async (captures) => {
      const folders = new Set(captures.map(({ folder }) => folder));
      for (const item of ledger.all()) {
        if (!folders.has(item.capture.folder)) continue;
        await tell(item, { state: "superseded", fault: null, active: null });
        await drop(item);
      }
    },
    steer: async (transferId, wish) => {
      const item = ledger.all().find(({ capture }) => capture.transferId === transferId);
      if (item === undefined) throw new Fault("NOT_FOUND", { op: wish, subject: transferId });
      if (state.active?.item.capture.transferId === transferId) {
        const { stop, ended } = state.active;
        stop.abort(new Fault("CANCELLED"));
        await ended;
      }
      if (wish === "cancel") {
        await tell(item, { state: "cancelled", fault: new Fault("CANCELLED").toData(), active: null });
        await drop(item);
      } else await ledger.setPaused(item, wish === "pause");
      waits.delete(transferId);
      bell.ring();
    },
    run: async () => {
      while (!signal.aborted) {
        await passOverOlder();
        const item = parts.isBusy() || !hub.isUp ? null : next();
        if (item === null) await bell.wait(ledger.all().length > 0 ? LOOK_MS * 4 : IDLE_MS);
        else await carryOut(item);
      }
    },
    progress: () =>
      ledger.all().map((item): TransferProgress => {
        const { capture, isPaused, takenAt } = item;
        const active = state.active?.item.capture.transferId === capture.transferId ? state.active : null;
        const tally = active?.tally ?? null;
        return {
          id: capture.transferId,
          direction: "copy",
          state: isPaused ? "paused" : active === null ? "waiting" : "running",
          checkpointId: capture.id,
          run: capture.run,
          step: capture.step,
          ...movementOf(tally, active?.engine ?? null),
          bytesTotal: capture.sizeBytes,
          filesTotal: capture.files.length,
          startedAt: Math.round(takenAt),
          retries: capture.retries + (tally?.retries ?? 0),
          stalledMs: stalledMsOf(tally),
          fault: tally?.lastFault?.toData() ?? waitOf(item).fault,
          startedBy: "queue",
          ...(capture.home == null ? {} : { profileId: capture.home }),
        };
      }),
  };
}
