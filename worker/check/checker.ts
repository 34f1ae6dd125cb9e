import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { MovingCommand } from "#protocol/commands.ts";
import { damageReport, damageWords, type DamageReport } from "#protocol/damage.ts";
import { Fault, toFault, type FaultData } from "#protocol/fault.ts";
import type { TransferProgress } from "#protocol/reports.ts";
import { isEnded, mayMove } from "#protocol/transfer.ts";
import { jitter } from "../engine/breaker.ts";
import type { Clock } from "../engine/clock.ts";
import type { Engine } from "../engine/engine.ts";
import type { Tally } from "../engine/tally.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";
import type { CommandMemory, Taken } from "../link/command-memory.ts";
import type { Hub } from "../link/hub.ts";
import type { Outbox } from "../link/outbox.ts";
import { isFatal } from "../link/stream.ts";
import { clearRestore, readManifest, restore } from "../restore/restore.ts";
import { tellSums } from "../restore/tell-sums.ts";
import { verify, verifyJournalOf } from "./verify.ts";

/**
 * Reads checkpoints back when the hub asks: verifying, and restore drills. One at a time, on connections of its own, and
 * only while this node has nothing of its own to move: what begins meanwhile ends the extent under way, which is read again
 * later. Verifying takes a bounded share of the link by resting after each extent in proportion to what that took, so that
 * nobody has to know how fast the link is. On disk before it begins; goes on after a kill.
 */
export interface Checker {
  /** Until the signal fires. Faults: NODE_UNKNOWN, NODE_REVOKED. */
  run(): Promise<void>;
  wake(): void;
  has(transferId: string): boolean;
  /** Faults: NOT_FOUND, CONFLICT. */
  steer(transferId: string, wish: "cancel" | "pause" | "resume" | "retry"): Promise<void>;
  progress(): TransferProgress[];
}

export type CheckCommand = Extract<MovingCommand, { kind: "verify" | "drill" }>;

export interface CheckerParts {
  memory: CommandMemory;
  outbox: Outbox;
  hub: Hub;
  clock: Clock;
  /** The state folder: journals and scratch folders lie in it. */
  state: string;
  engine(): Engine | null;
  signal: AbortSignal;
  /** The node has something of its own to move. */
  isBusy(): boolean;
  /** A person said that downloads of the run wait. */
  isHeld(run: string): boolean;
  onStart(command: CheckCommand): void;
  onEnd(command: CheckCommand, about: { fault: FaultData | null; damage: DamageReport | null }): void;
}

/** Of the link, over time. */
const SHARE = 0.25;
const LONGEST_REST_MS = 60_000;
const LOOK_MS = 250;
const IDLE_MS = 10_000;

type CheckTaken = Taken & { command: CheckCommand };
const isCheck = (item: Taken): item is CheckTaken => item.command.kind === "verify" || item.command.kind === "drill";

interface Active {
  id: string;
  tally: Tally | null;
  damage: DamageReport | null;
  /** A person wants it to end or to wait. */
  stop: AbortController;
}

type End = {
  to: "done" | "failed" | "cancelled";
  fault: FaultData | null;
  tally: Tally | null;
  damage: DamageReport | null;
};

export function createChecker(parts: CheckerParts): Checker {
  const { memory, clock, signal } = parts;
  const state: { active: Active | null; tries: number } = { active: null, tries: 0 };
  let bell: (() => void) | null = null;
  const ring = () => bell?.();
  const checks = () => memory.checks().filter(isCheck);
  const mayGo = ({ command }: CheckTaken) => !parts.isBusy() && !parts.isHeld(command.run);

  const end = async (item: CheckTaken, how: End) => {
    // Before the state: told again after a kill, the end says the same.
    if (how.damage !== null) {
      await mkdir(join(parts.state, "verifies"), { recursive: true });
      await writeStateFile(foundOf(parts, item.command), how.damage);
    }
    await memory.setState(item.command.id, how.to, how.fault);
    parts.onEnd(item.command, how);
    await tellEnd(parts, item, how);
  };

  const carryOut = async (item: CheckTaken, engine: Engine) => {
    const { command } = item;
    const active: Active = { id: command.id, tally: null, damage: null, stop: new AbortController() };
    state.active = active;
    await memory.setState(command.id, "running", null);
    parts.onStart(command);
    const yielding = new AbortController();
    const look = setInterval(() => {
      if (!mayGo(item)) yielding.abort(new Fault("CANCELLED"));
    }, LOOK_MS);
    const until = AbortSignal.any([active.stop.signal, yielding.signal, signal]);
    try {
      const about = {
        command,
        until,
        onStart: (made: Tally) => {
          active.tally = made;
        },
        onDamage: (report: DamageReport) => {
          active.damage ??= report;
        },
      };
      const { tally, damage } = await doCheck(parts, engine, about);
      const fault = damage === null ? null : faultOf(damage);
      await end(item, { to: fault === null ? "done" : "failed", fault, tally, damage });
      state.tries = 0;
    } catch (error) {
      if (signal.aborted || active.stop.signal.aborted) return;
      if (yielding.signal.aborted) {
        await memory.setState(command.id, "waiting", null);
        return;
      }
      const fault = toFault(error, { op: command.kind, subject: command.checkpointId });
      if (isFatal(fault)) throw fault;
      if (fault.retry === "backoff") {
        await memory.setState(command.id, "waiting", fault.toData());
        await clock.sleep(500 + jitter(clock, ++state.tries), signal).catch(() => undefined);
        return;
      }
      await clear(parts, command).catch(() => undefined);
      await end(item, { to: "failed", fault: fault.toData(), tally: active.tally, damage: active.damage });
    } finally {
      clearInterval(look);
      state.active = null;
    }
  };

  const steer: Checker["steer"] = async (transferId, wish) => {
    const item = checks().find(({ command }) => command.transferId === transferId);
    if (item === undefined) throw new Fault("NOT_FOUND", { op: wish, subject: transferId });
    const to = ({ cancel: "cancelled", pause: "paused", resume: "waiting", retry: "waiting" } as const)[wish];
    const refuse = () => new Fault("CONFLICT", { op: wish, subject: transferId, detail: `it is ${item.state}` });
    if (!mayMove(item.state, to, "person")) throw refuse();
    const active = state.active?.id === item.command.id ? state.active : null;
    if (to !== "cancelled") await memory.setState(item.command.id, to, null);
    active?.stop.abort(new Fault("CANCELLED"));
    while (state.active !== null && state.active === active && !signal.aborted) await clock.sleep(20, signal);
    // It may have ended in this very moment.
    if (isEnded(item.state) && active !== null) throw refuse();
    if (to === "cancelled") {
      await clear(parts, item.command);
      const tally = active?.tally ?? null;
      await end(item, { to: "cancelled", fault: new Fault("CANCELLED").toData(), tally, damage: null });
    }
    ring();
  };

  return {
    wake: ring,
    has: (transferId) => checks().some(({ command }) => command.transferId === transferId),
    steer,
    run: async () => {
      for (const item of checks()) {
        const { state: at, fault } = item;
        if (item.ended || (at !== "done" && at !== "failed" && at !== "cancelled")) continue;
        await tellEnd(parts, item, { to: at, fault, tally: null, damage: await readFound(parts, item.command) });
      }
      while (!signal.aborted) {
        const engine = parts.engine();
        const next = checks().find((item) => item.state === "waiting" && mayGo(item));
        if (engine !== null && next !== undefined) {
          await carryOut(next, engine);
          continue;
        }
        const woken = new Promise<void>((resolve) => {
          bell = resolve;
        });
        // What is busy now says nothing when it is done.
        const isWaiting = checks().some((item) => item.state === "waiting");
        await Promise.race([woken, clock.sleep(isWaiting ? LOOK_MS * 4 : IDLE_MS, signal).catch(() => undefined)]);
        bell = null;
      }
    },
    progress: () =>
      checks()
        .filter((item) => !isEnded(item.state))
        .map((item) =>
          progressOf(item, state.active?.id === item.command.id ? state.active.tally : null, parts.engine()),
        ),
  };
}

/** The first range speaks for all; the others are in the report. */
const faultOf = (report: DamageReport): FaultData =>
  new Fault("CHECKPOINT_DAMAGED", { op: "verify", detail: damageWords(report) }).toData();

const foundOf = ({ state }: CheckerParts, { transferId }: CheckCommand): string =>
  join(state, "verifies", `${transferId}.found.json`);

const readFound = (parts: CheckerParts, command: CheckCommand): Promise<DamageReport | null> =>
  readStateFile(foundOf(parts, command), damageReport);

const scratchOf = ({ state }: CheckerParts, { transferId }: CheckCommand): string => join(state, "drills", transferId);

async function doCheck(
  parts: CheckerParts,
  engine: Engine,
  about: {
    command: CheckCommand;
    until: AbortSignal;
    onStart(tally: Tally): void;
    onDamage(report: DamageReport): void;
  },
): Promise<{ tally: Tally; damage: DamageReport | null }> {
  const { command, until, onStart, onDamage } = about;
  const { hub, clock, state } = parts;
  if (command.kind === "verify") {
    const manifest = await readManifest(engine, { command, hub, signal: until });
    const found = await verify(engine, {
      manifest,
      transferId: command.transferId,
      journals: join(state, "verifies"),
      signal: until,
      onStart,
      turn: async () => {
        if (until.aborted) throw new Fault("CANCELLED");
      },
      rest: (tookMs) => clock.sleep(Math.min(LONGEST_REST_MS, (tookMs * (1 - SHARE)) / SHARE), until),
    });
    if (found.damage === null) await tellSums({ hub, command }, manifest, found.sums);
    return found;
  }
  const tally = await restore(engine, {
    command: drilledAs(parts, command),
    hub,
    journals: join(state, "verifies"),
    signal: until,
    onStart,
    beforePlaced: async () => undefined,
    onDamage,
  });
  await rm(scratchOf(parts, command), { recursive: true, force: true });
  return { tally, damage: null };
}

const drilledAs = (parts: CheckerParts, command: CheckCommand) => ({
  ...command,
  kind: "restore" as const,
  targetPath: join(scratchOf(parts, command), `checkpoint-${command.step}`),
});

async function clear(parts: CheckerParts, command: CheckCommand): Promise<void> {
  const journals = join(parts.state, "verifies");
  if (command.kind === "verify")
    return rm(verifyJournalOf({ journals, transferId: command.transferId }), { force: true });
  await clearRestore({ command: drilledAs(parts, command), journals });
  await rm(scratchOf(parts, command), { recursive: true, force: true });
}

/** The end of the transfer and of the command, in the outbox before it is forgotten here. */
async function tellEnd(parts: CheckerParts, item: CheckTaken, how: End): Promise<void> {
  const { command } = item;
  const { to, fault, tally, damage } = how;
  await parts.outbox.add({
    type: "transfer-ended",
    transferId: command.transferId,
    direction: command.kind,
    state: to,
    checkpointId: command.checkpointId,
    run: command.run,
    step: command.step,
    bytes: tally?.bytesTotal ?? 0,
    files: tally?.filesTotal ?? 0,
    sentBytes: tally?.sentBytes ?? 0,
    startedAt: Math.round(item.at),
    retries: tally?.retries ?? 0,
    connections: parts.engine()?.gate.width ?? 0,
    startedBy: "operator",
    fault,
    ...(damage === null ? {} : { damage }),
  });
  await parts.outbox.add({
    type: "command-ended",
    commandId: command.id,
    outcome: to,
    fault,
  });
  await parts.memory.end(command.id);
  await rm(foundOf(parts, command), { force: true });
}

function progressOf(item: CheckTaken, tally: Tally | null, engine: Engine | null): TransferProgress {
  const { command } = item;
  return {
    id: command.transferId,
    direction: command.kind,
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
    // It rests on purpose.
    stalledMs: null,
    fault: tally?.lastFault?.toData() ?? item.fault,
    startedBy: "operator",
  };
}
