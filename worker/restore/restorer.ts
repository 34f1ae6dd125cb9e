import { randomUUID } from "node:crypto";
import type { DamageReport } from "#protocol/damage.ts";
import { Fault, toFault } from "#protocol/fault.ts";
import { filePath, type RunName } from "#protocol/names.ts";
import type { TransferProgress } from "#protocol/reports.ts";
import { isEnded, mayMove, type TransferState } from "#protocol/transfer.ts";
import { jitter } from "../engine/breaker.ts";
import type { Clock } from "../engine/clock.ts";
import type { Engine } from "../engine/engine.ts";
import { measuredOf } from "../engine/measured-of.ts";
import type { Tally } from "../engine/tally.ts";
import { isOwn, ownCommandId, type CommandMemory, type Taken } from "../link/command-memory.ts";
import type { Hub } from "../link/hub.ts";
import type { Outbox } from "../link/outbox.ts";
import { isFatal } from "../link/stream.ts";
import { clearRestore, restore, type RestoreCommand } from "./restore.ts";

/** Carries out restores, one at a time, in the order in which they were asked for; goes on with them after a kill. */
export interface Restorer {
  /** Until the signal fires. Faults: NODE_UNKNOWN, NODE_REVOKED. */
  run(): Promise<void>;
  /** There is a new command. */
  wake(): void;
  /**
   * Restores before training starts; goes on with what an earlier life of this process had begun of it. Faults: those of
   * `restore`.
   */
  restoreFirst(wanted: {
    checkpointId: string;
    run: RunName;
    step: number;
    targetPath: string;
    files?: string[];
  }): Promise<void>;
  /** Faults: NOT_FOUND, CONFLICT. */
  steer(transferId: string, wish: "cancel" | "pause" | "resume" | "retry"): Promise<void>;
  progress(): TransferProgress[];
}

export interface RestorerParts {
  memory: CommandMemory;
  outbox: Outbox;
  hub: Hub;
  clock: Clock;
  journals: string;
  engine(): Engine | null;
  signal: AbortSignal;
  beforePlaced(staging: string, target: string): Promise<void>;
  /** Where the hub may have something put. Faults: those of `assertPlace`. */
  mayPlace?(target: string): Promise<void>;
  /** What the hub asked for waits. */
  isHeld?(run: string): boolean;
  onStart(command: RestoreCommand): void;
  onEnd(command: RestoreCommand, about: { state: TransferState; fault: Fault | null; tally: Tally | null }): void;
}

const IDLE_MS = 10_000;
const STALLED_MS = 5_000;

interface Active {
  id: string;
  tally: Tally | null;
  stop: AbortController;
  damage: DamageReport | null;
}

type RestoreTaken = Taken & { command: RestoreCommand };
const isRestore = (item: Taken): item is RestoreTaken => item.command.kind === "restore";

export function createRestorer(parts: RestorerParts): Restorer {
  const { memory, clock, signal } = parts;
  const state: { active: Active | null; tries: number } = {
    active: null,
    tries: 0,
  };
  /** Who waits for the end of a restore, by the id of its command. */
  const waiting = new Map<string, (end: { to: TransferState; fault: Fault | null }) => void>();
  let bell: (() => void) | null = null;
  const ring = () => bell?.();

  const isHeld = ({ command }: RestoreTaken) => !isOwn(command) && parts.isHeld?.(command.run) === true;
  const restores = () => memory.restores().filter(isRestore);

  const end = async (
    item: RestoreTaken,
    about: {
      to: "done" | "failed" | "cancelled";
      fault: Fault | null;
      tally: Tally | null;
      damage?: DamageReport | null;
    },
  ) => {
    const { to, fault, tally } = about;
    await memory.setState(item.command.id, to, fault?.toData() ?? null);
    parts.onEnd(item.command, { state: to, fault, tally });
    await tellEnd(parts, item, { tally, damage: about.damage ?? null });
    waiting.get(item.command.id)?.({ to, fault });
  };

  const carryOut = async (item: RestoreTaken, engine: Engine) => {
    const { command } = item;
    const stop = new AbortController();
    const both = AbortSignal.any([stop.signal, signal]);
    const active: Active = { id: command.id, tally: null, stop, damage: null };
    state.active = active;
    await memory.setState(command.id, "running", null);
    parts.onStart(command);
    try {
      const tally = await restore(engine, {
        command,
        hub: parts.hub,
        journals: parts.journals,
        signal: both,
        onStart: (started) => {
          active.tally = started;
        },
        beforePlaced: parts.beforePlaced,
        onDamage: (report) => {
          active.damage ??= report;
        },
        ...(parts.mayPlace === undefined || isOwn(command) ? {} : { mayPlace: parts.mayPlace }),
      });
      await end(item, { to: "done", fault: null, tally });
      state.tries = 0;
    } catch (error) {
      if (signal.aborted || stop.signal.aborted) return;
      const fault = toFault(error, { op: "restore", subject: command.targetPath });
      if (isFatal(fault)) throw fault;
      if (fault.retry === "backoff") {
        await memory.setState(command.id, "waiting", fault.toData());
        await clock.sleep(500 + jitter(clock, ++state.tries), signal).catch(() => undefined);
        return;
      }
      await clearRestore({ command, journals: parts.journals }).catch(() => undefined);
      await end(item, { to: "failed", fault, tally: active.tally, damage: active.damage });
    } finally {
      state.active = null;
    }
  };

  const steer: Restorer["steer"] = async (transferId, wish) => {
    const item = restores().find(({ command }) => command.transferId === transferId);
    if (item === undefined) throw new Fault("NOT_FOUND", { op: wish, subject: transferId });
    const to = ({ cancel: "cancelled", pause: "paused", resume: "waiting", retry: "waiting" } as const)[wish];
    if (!mayMove(item.state, to, "person")) {
      throw new Fault("CONFLICT", { op: wish, subject: transferId, detail: `it is ${item.state}` });
    }
    const active = state.active?.id === item.command.id ? state.active : null;
    if (to !== "cancelled") await memory.setState(item.command.id, to, null);
    active?.stop.abort(new Fault("CANCELLED"));
    while (state.active !== null && state.active === active && !signal.aborted) await clock.sleep(20, signal);
    // It may have come into its place in this very moment.
    if (isEnded(item.state) && active !== null) {
      throw new Fault("CONFLICT", { op: wish, subject: transferId, detail: `it is ${item.state}` });
    }
    if (to === "cancelled") {
      await clearRestore({ command: item.command, journals: parts.journals });
      await end(item, { to: "cancelled", fault: new Fault("CANCELLED"), tally: active?.tally ?? null });
    }
    ring();
  };

  const restoreFirst: Restorer["restoreFirst"] = async (wanted) => {
    const begun = restores().find(
      ({ command, state: at }) =>
        isOwn(command) &&
        (at === "waiting" || at === "running") &&
        command.checkpointId === wanted.checkpointId &&
        command.targetPath === wanted.targetPath &&
        String(command.files ?? "") === String(wanted.files ?? ""),
    );
    const command = begun?.command ?? {
      kind: "restore" as const,
      id: ownCommandId(),
      transferId: randomUUID(),
      ...wanted,
      files: wanted.files?.map((path) => filePath.parse(path)),
    };
    const { promise: ended, resolve } = Promise.withResolvers<{ to: TransferState; fault: Fault | null }>();
    waiting.set(command.id, resolve);
    if (begun === undefined) await memory.accept(command, Date.now());
    ring();
    const stop = () => resolve({ to: "cancelled", fault: null });
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const { to, fault } = await ended;
    signal.removeEventListener("abort", stop);
    waiting.delete(command.id);
    if (to !== "done") throw fault ?? new Fault("CANCELLED", { op: "restore", subject: wanted.targetPath });
  };

  return {
    wake: ring,
    steer,
    restoreFirst,
    run: async () => {
      for (const item of restores())
        if (isEnded(item.state) && !item.ended) await tellEnd(parts, item, { tally: null, damage: null });
      while (!signal.aborted) {
        const engine = parts.engine();
        const next = restores().find((item) => item.state === "waiting" && !isHeld(item));
        if (engine !== null && next !== undefined) {
          await carryOut(next, engine);
          continue;
        }
        const woken = new Promise<void>((resolve) => {
          bell = resolve;
        });
        await Promise.race([woken, clock.sleep(IDLE_MS, signal).catch(() => undefined)]);
        bell = null;
      }
    },
    progress: () =>
      restores()
        .filter((item) => !isEnded(item.state))
        .map((item) =>
          progressOf(item, state.active?.id === item.command.id ? state.active.tally : null, parts.engine()),
        ),
  };
}

/** The end of the transfer and of the command, in the outbox before it is forgotten here. */
async function tellEnd(
  parts: RestorerParts,
  item: RestoreTaken,
  { tally, damage }: { tally: Tally | null; damage: DamageReport | null },
): Promise<void> {
  const { command, state, fault } = item;
  const measured = measuredOf(tally, { engine: parts.engine(), partBytes: tally?.largestPartBytes ?? null });
  if (state !== "done" && state !== "failed" && state !== "cancelled") return;
  await parts.outbox.add({
    type: "transfer-ended",
    transferId: command.transferId,
    direction: "download",
    state,
    checkpointId: command.checkpointId,
    run: command.run,
    step: command.step,
    bytes: tally?.bytesTotal ?? 0,
    files: tally?.filesTotal ?? 0,
    sentBytes: tally?.sentBytes ?? 0,
    startedAt: Math.round(item.at),
    retries: tally?.retries ?? 0,
    connections: parts.engine()?.gate.width ?? 0,
    startedBy: isOwn(command) ? "start" : "operator",
    fault,
    ...(damage === null ? {} : { damage }),
    ...(command.files == null ? {} : { isPartial: true as const }),
    ...(measured === null ? {} : { measured }),
  });
  if (!isOwn(command)) await parts.outbox.add({ type: "command-ended", commandId: command.id, outcome: state, fault });
  await parts.memory.end(command.id);
}

function progressOf(item: RestoreTaken, tally: Tally | null, engine: Engine | null): TransferProgress {
  const { command } = item;
  const idleMs = tally === null ? 0 : Math.round(tally.idleMs());
  return {
    id: command.transferId,
    direction: "download",
    state: item.state,
    checkpointId: command.checkpointId,
    run: command.run,
    step: command.step,
    bytesDone: tally?.bytesDone ?? 0,
    bytesTotal: tally?.bytesTotal ?? 0,
    filesDone: tally?.filesDone ?? 0,
    filesTotal: tally?.filesTotal ?? 0,
    currentPath: tally?.currentPath ?? null,
    bytesPerSecond: tally === null ? 0 : (engine?.meter.bytesPerSecond() ?? 0),
    startedAt: Math.round(item.at),
    connections: tally === null ? 0 : (engine?.gate.held ?? 0),
    retries: tally?.retries ?? 0,
    pieces: tally?.pieces() ?? "",
    stalledMs: idleMs > STALLED_MS ? idleMs : null,
    fault: tally?.lastFault?.toData() ?? item.fault,
    startedBy: isOwn(command) ? "start" : "operator",
  };
}
