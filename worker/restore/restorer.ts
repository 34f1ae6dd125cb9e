import { randomUUID } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import { filePath, type RunName } from "#protocol/base/names.ts";
import type { GroupMember } from "#protocol/checkpoint/pieces.ts";
import type { TransferState } from "#protocol/wire/transfer.ts";
import type { Clock } from "../base/clock.ts";
import type { Engine } from "../transfer/engine.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import { isOwn, ownCommandId, type CommandMemory, type Taken } from "../hub-link/command-memory.ts";
import type { Hub } from "../hub-link/hub.ts";
import type { Outbox } from "../hub-link/outbox.ts";
import { restoreFromCopies, type ReadParts } from "./read-copies.ts";
import { createJobRunner, type JobRunner } from "../job-runner/job-runner.ts";
import { tellEnd, type ReadFrom } from "../job-runner/tell-end.ts";
import type { Impossible } from "./placement/safe-place.ts";
import type { Replaced } from "./placement/put-in-place.ts";
import { clearRestore, restore } from "./restore.ts";
import type { Origin, RestoreCommand, RestoreJob } from "./restore-job.ts";

/** Carries out restores, one at a time, in the order in which they were requested, and continues them after a kill. */
export interface Restorer extends JobRunner {
  /**
   * Restores before training starts, and continues what an earlier process had begun. Returns the facts of the manifest, where
   * this process has read it. Faults: those of `restore`.
   */
  restoreFirst(wanted: {
    checkpointId: string;
    run: RunName;
    step: number;
    targetPath: string;
    files?: string[];
    tensors?: string[];
    /** Whether nothing is put beside it, and files that exist already stay. */
    isAlone?: true;
    /** Whether files that the disk cannot name are left out. The Fault is NAMES_LEFT_OUT then. */
    mayLeaveOut?: true;
  }): Promise<Origin | null>;
}

export interface RestorerParts {
  memory: CommandMemory;
  outbox: Outbox;
  hub: Hub;
  clock: Clock;
  journals: string;
  engine(): Engine | null;
  /** How to read from replicas; left out: there are none. */
  copies?: ReadParts;
  signal: AbortSignal;
  /** Rank of this node in a group: restores for training then write what this node needs. */
  member?: GroupMember | null;
  beforePlaced: RestoreJob["beforePlaced"];
  afterPlaced?: RestoreJob["afterPlaced"];
  replaced: Replaced;
  onRefused?: RestoreJob["onRefused"];
  /** Checks where the hub may place a checkpoint. Faults: those of `assertPlace`. */
  assertMayPlace?(target: string): Promise<void>;
  /** Returns whether restores that the hub requested for the run are held. */
  isHeld?(run: string): boolean;
  onStart(command: RestoreCommand): void;
  onEnd(command: RestoreCommand, about: RestoreEnd): void;
}

export interface RestoreEnd {
  state: TransferState;
  fault: Fault | null;
  counters: ProgressCounters | null;
  /** Null when the manifest was not read. */
  origin: Origin | null;
}

type Ended = Pick<RestoreEnd, "fault" | "origin"> & { to: TransferState };

type RestoreTaken = Taken & { command: RestoreCommand };
const isRestore = (item: Taken): item is RestoreTaken => item.command.kind === "restore";

/** Limit of files that the Fault names. */
const MOST_NAMED = 5;

function leftOutFault(files: readonly Impossible[]): Fault {
  const words = files.slice(0, MOST_NAMED).map(({ path, why }) => `${path} (${why})`);
  const more = files.length > MOST_NAMED ? ` and ${files.length - MOST_NAMED} more` : "";
  const subject = files.length === 1 ? "1 file" : `${files.length} files`;
  return new Fault("NAMES_LEFT_OUT", { op: "restore", subject, detail: `${words.join(", ")}${more}` });
}

export function createRestorer(parts: RestorerParts): Restorer {
  const { memory, clock, signal, hub, journals, beforePlaced, replaced, assertMayPlace } = parts;
  /** Callbacks for the end of a restore, by the id of its command. */
  const waiting = new Map<string, (end: Ended) => void>();
  const restores = () => memory.restores().filter(isRestore);
  /** Copy that was read, by the id of the command, until the end is reported. */
  const read = new Map<string, ReadFrom>();
  const origins = new Map<string, Origin>();
  const jobs = createJobRunner<RestoreTaken>({
    memory,
    clock,
    signal,
    engine: parts.engine,
    items: restores,
    mayGo: ({ command }) => isOwn(command) || parts.isHeld?.(command.run) !== true,
    lookMs: null,
    onStart: ({ command }) => parts.onStart(command),
    work: async ({ command }, { engine, running, signal: until }) => {
      const leftOut: Impossible[] = [];
      const job: RestoreJob = {
        command,
        onLeftOut: (files) => void leftOut.splice(0, leftOut.length, ...files),
        hub,
        journals,
        signal: until,
        onStart: (started) => {
          running.counters = started;
        },
        beforePlaced,
        ...(parts.afterPlaced !== undefined && { afterPlaced: parts.afterPlaced }),
        replaced,
        ...(parts.onRefused !== undefined && { onRefused: parts.onRefused }),
        ...(isOwn(command) && parts.member != null && { member: parts.member }),
        onOrigin: (origin) => void origins.set(command.id, origin),
        onDamage: (report) => {
          running.damage ??= report;
        },
        ...(assertMayPlace === undefined || isOwn(command) ? {} : { assertMayPlace }),
      };
      const leave = await hub.announceRestore?.(command);
      try {
        if (parts.copies === undefined) await restore(engine, job);
        else read.set(command.id, await restoreFromCopies(engine, parts.copies, job));
      } finally {
        await leave?.();
      }
      return leftOut.length === 0 ? null : leftOutFault(leftOut);
    },
    clear: ({ command }) => clearRestore({ command, journals, replaced }),
    end: async (item, how) => {
      const { to, fault, counters } = how;
      await memory.setState(item.command.id, to, fault?.toData() ?? null);
      const origin = origins.get(item.command.id) ?? null;
      parts.onEnd(item.command, { state: to, fault, counters, origin });
      origins.delete(item.command.id);
      await tellEnd(parts, item, { ...how, from: read.get(item.command.id) ?? null });
      read.delete(item.command.id);
      waiting.get(item.command.id)?.({ to, fault, origin });
    },
    tellAgain: (item) => tellEnd(parts, item, { counters: null, damage: null }),
  });

  const restoreFirst: Restorer["restoreFirst"] = async (wanted) => {
    const begun = restores().find(
      ({ command, state: at }) =>
        isOwn(command) &&
        (at === "waiting" || at === "running") &&
        command.checkpointId === wanted.checkpointId &&
        command.targetPath === wanted.targetPath &&
        String(command.files ?? "") === String(wanted.files ?? "") &&
        String(command.tensors ?? "") === String(wanted.tensors ?? ""),
    );
    const command = begun?.command ?? {
      kind: "restore" as const,
      id: ownCommandId(),
      transferId: randomUUID(),
      ...wanted,
      files: wanted.files?.map((path) => filePath.parse(path)),
    };
    const { promise: ended, resolve } = Promise.withResolvers<Ended>();
    waiting.set(command.id, resolve);
    if (begun === undefined) await memory.accept(command, Date.now());
    jobs.wake();
    const stop = () => resolve({ to: "cancelled", fault: null, origin: null });
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const { to, fault, origin } = await ended;
    signal.removeEventListener("abort", stop);
    waiting.delete(command.id);
    if (to !== "done") throw fault ?? new Fault("CANCELLED", { op: "restore", subject: wanted.targetPath });
    return origin;
  };

  return { ...jobs, restoreFirst };
}
