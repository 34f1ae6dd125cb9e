import type { DamageReport } from "#protocol/checkpoint/damage.ts";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import type { TransferProgress } from "#protocol/wire/reports.ts";
import { isEnded, mayMove, TRANSFER_ACTIONS } from "#protocol/wire/transfer.ts";
import { jitter } from "../base/breaker.ts";
import type { Clock } from "../base/clock.ts";
import type { Engine } from "../transfer/engine.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import type { CommandMemory } from "../hub-link/command-memory.ts";
import { isFatal } from "../hub-link/stream.ts";
import { progressOf, type Moving } from "./progress-of.ts";

/**
 * Runs commands that move data, one at a time in the order of acceptance, and resumes them after a kill. The caller supplies
 * the work. When a command may begin, how a failure is handled and how people control it is the same for all kinds.
 */
export interface JobRunner {
  /** Runs until the signal fires. @throws Fault NODE_UNKNOWN, NODE_REVOKED */
  run(): Promise<void>;
  /** Tells that there is a new command, or that a waiting one may begin now. */
  wake(): void;
  /** Carries out an action of a person on a transfer. @throws Fault NOT_FOUND, CONFLICT */
  steer(transferId: string, action: "cancel" | "pause" | "resume" | "retry"): Promise<void>;
  progress(): TransferProgress[];
}

/** Progress and findings of the running command. */
export interface RunningJob {
  counters: ProgressCounters | null;
  damage: DamageReport | null;
}

export interface End {
  to: "done" | "failed" | "cancelled";
  fault: Fault | null;
  counters: ProgressCounters | null;
  damage: DamageReport | null;
}

export interface JobRunnerParts<Item extends Moving> {
  memory: CommandMemory;
  clock: Clock;
  signal: AbortSignal;
  engine(): Engine | null;
  /** Returns all commands, including ended ones. */
  items(): readonly Item[];
  mayGo(item: Item): boolean;
  /** Interval (ms) of asking `mayGo` for the running command, which stops on false; null: not asked once it runs. */
  lookMs: number | null;
  onStart(item: Item): void;
  /** Does the work of a command until it is done or the signal fires, and updates `running` as it goes. Returns null on success. */
  work(item: Item, about: { engine: Engine; running: RunningJob; signal: AbortSignal }): Promise<Fault | null>;
  /** Removes the remains of an unfinished command. */
  clear(item: Item): Promise<void>;
  end(item: Item, how: End): Promise<void>;
  /** Reports an end that was not reported because of a kill. */
  tellAgain(item: Item): Promise<void>;
}

const IDLE_MS = 10_000;

export function createJobRunner<Item extends Moving>(parts: JobRunnerParts<Item>): JobRunner {
  const { memory, clock, signal, items, mayGo, lookMs } = parts;
  const state: { active: (RunningJob & { id: string; stop: AbortController }) | null; tries: number } = {
    active: null,
    tries: 0,
  };
  let wakeUp: (() => void) | null = null;
  const wake = () => wakeUp?.();

  const carryOut = async (item: Item, engine: Engine) => {
    const { command } = item;
    const running = { id: command.id, counters: null, damage: null, stop: new AbortController() };
    state.active = running;
    await memory.setState(command.id, "running", null);
    parts.onStart(item);
    const yielding = new AbortController();
    const look = () => {
      if (!mayGo(item)) yielding.abort(new Fault("CANCELLED"));
    };
    const looking = lookMs === null ? undefined : setInterval(look, lookMs);
    const until = AbortSignal.any([running.stop.signal, yielding.signal, signal]);
    try {
      const fault = await parts.work(item, { engine, running, signal: until });
      await parts.end(item, {
        to: fault === null ? "done" : "failed",
        fault,
        counters: running.counters,
        damage: running.damage,
      });
      state.tries = 0;
    } catch (error) {
      if (signal.aborted || running.stop.signal.aborted) return;
      if (yielding.signal.aborted) return await memory.setState(command.id, "waiting", null);
      const fault = toFault(error, { op: command.kind, subject: subjectOf(item) });
      if (isFatal(fault)) throw fault;
      if (fault.retry === "backoff") {
        await memory.setState(command.id, "waiting", fault.toData());
        await clock.sleep(500 + jitter(clock, ++state.tries), signal).catch(() => undefined);
        return;
      }
      await parts.clear(item).catch(() => undefined);
      await parts.end(item, { to: "failed", fault, counters: running.counters, damage: running.damage });
    } finally {
      clearInterval(looking);
      state.active = null;
    }
  };

  const steer: JobRunner["steer"] = async (transferId, action) => {
    const item = items().find(({ command }) => command.transferId === transferId);
    if (item === undefined) throw new Fault("NOT_FOUND", { op: action, subject: transferId });
    const { to } = TRANSFER_ACTIONS[action];
    const refuse = () => new Fault("CONFLICT", { op: action, subject: transferId, detail: `it is ${item.state}` });
    // An ended transfer has left nothing to cancel.
    if (!mayMove(item.state, to, "person") || (to === "cancelled" && isEnded(item.state))) throw refuse();
    const mine = state.active?.id === item.command.id ? state.active : null;
    if (to !== "cancelled") await memory.setState(item.command.id, to, null);
    mine?.stop.abort(new Fault("CANCELLED"));
    while (state.active !== null && state.active === mine && !signal.aborted) await clock.sleep(20, signal);
    // The transfer may have ended before the abort reached it.
    if (isEnded(item.state) && mine !== null) throw refuse();
    if (to === "cancelled") {
      await parts.clear(item);
      await parts.end(item, { to, fault: new Fault("CANCELLED"), counters: mine?.counters ?? null, damage: null });
    }
    wake();
  };

  return {
    wake,
    steer,
    run: async () => {
      for (const item of items()) if (isEnded(item.state) && !item.ended) await parts.tellAgain(item);
      while (!signal.aborted) {
        const engine = parts.engine();
        const next = items().find((item) => item.state === "waiting" && mayGo(item));
        if (engine !== null && next !== undefined) {
          await carryOut(next, engine);
          continue;
        }
        const woken = new Promise<void>((resolve) => {
          wakeUp = resolve;
        });
        // Nothing signals when `mayGo` becomes true, so waiting commands are polled.
        const isHeldUp = lookMs !== null && items().some((item) => item.state === "waiting");
        await Promise.race([woken, clock.sleep(isHeldUp ? lookMs * 4 : IDLE_MS, signal).catch(() => undefined)]);
        wakeUp = null;
      }
    },
    progress: () =>
      items()
        .filter((item) => !isEnded(item.state))
        .map((item) =>
          progressOf(item, state.active?.id === item.command.id ? state.active.counters : null, parts.engine()),
        ),
  };
}

const subjectOf = ({ command }: Moving): string =>
  command.kind === "restore" ? command.targetPath : command.checkpointId;
