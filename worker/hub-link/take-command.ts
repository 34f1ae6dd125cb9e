import {
  isMoving,
  type Command,
  type CommandDetail,
  type CommandKind,
  type CommandOutcome,
  type MovingCommand,
} from "#protocol/wire/commands.ts";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import { isOwn, type CommandMemory, type Taken } from "./command-memory.ts";
import type { Outbox } from "./outbox.ts";

/**
 * How a node takes a command: accepted in its journal, begun in its journal, carried out, its end in the outbox, ended in
 * its journal. A kill between any two of these is made up for at the next start: what sets a state is set again, which
 * changes nothing; what would happen a second time is not begun again, and its end says so.
 */

/** Of everything that ends with its effect; what moves goes on by itself. */
export type Order = Exclude<Command, MovingCommand>;
type OrderKind = Order["kind"];

/** What came of an order; `afterwards` is done when that is in the outbox, because it may end the worker. */
export interface Effect {
  detail: CommandDetail | null;
  afterwards?: () => void;
}

interface CommandHands {
  /** There is something new to move. */
  move(): void;
  /** Carries one out. Faults: its own. */
  obey(order: Order): Promise<Effect>;
}

export interface Taking {
  memory: CommandMemory;
  outbox: Outbox;
  hands: CommandHands;
  /** Epoch ms by the hub's clock. */
  now(): number;
  /** The worker is ending: what is under way is gone on with at the next start. */
  signal: AbortSignal;
  /** One that takes its time went wrong in a way that nobody foresaw. */
  onTrouble(error: unknown): void;
}

/** These take their time: the ones after them do not wait. */
const LONG: ReadonlySet<CommandKind> = new Set(["flush", "probe", "drain", "reallocate", "preview", "bench"]);

/** What becomes of an order that was begun when the worker was killed. */
const AFTER_KILL: Readonly<Record<OrderKind, "again" | "done" | "failed">> = {
  cancel: "again",
  pause: "again",
  resume: "again",
  retry: "again",
  hold: "again",
  release: "again",
  limit: "again",
  priority: "again",
  flush: "again",
  "retry-uploads": "again",
  // Done once more it would also cancel what was captured since, which nobody meant.
  "cancel-uploads": "failed",
  drain: "again",
  preview: "again",
  // The hub says which cases are left, and for one that is over there are none.
  bench: "again",
  "bench-end": "again",
  // The worker has ended, which is what was asked for.
  stop: "done",
  probe: "failed",
  reallocate: "failed",
};

const isLate = ({ expiresAt }: Command, now: number): boolean => expiresAt != null && now >= expiresAt;

/** Takes a command: remembers it, says so, carries it out. One that was taken before does nothing, and one that comes too late ends. */
export async function takeCommand(taking: Taking, command: Command): Promise<void> {
  const { memory, outbox, now } = taking;
  if (memory.has(command.id)) return;
  if (isLate(command, now())) {
    const fault = new Fault("EXPIRED", { op: command.kind }).toData();
    await outbox.add({ type: "command-ended", commandId: command.id, outcome: "expired", fault, detail: null });
    return;
  }
  await memory.accept(command, now());
  await outbox.add({ type: "command-accepted", commandId: command.id });
  await carryOut(taking, { command, wasStarted: false });
}

/** After a restart: what was taken and did not end. What moves goes on by itself. */
export async function finishTaken(taking: Taking): Promise<void> {
  for (const item of taking.memory.open()) {
    if (isOwn(item.command)) continue;
    await taking.outbox.add({ type: "command-accepted", commandId: item.command.id });
    await finish(taking, item);
  }
}

async function finish(taking: Taking, { command, started }: Taken): Promise<void> {
  if (isMoving(command)) return;
  if (!started && isLate(command, taking.now())) {
    const fault = new Fault("EXPIRED", { op: command.kind }).toData();
    return end(taking, command, { outcome: "expired", fault, detail: null });
  }
  const after = started ? AFTER_KILL[command.kind] : "again";
  if (after === "again") return carryOut(taking, { command, wasStarted: started });
  const fault = after === "done" ? null : new Fault("INTERRUPTED", { op: command.kind }).toData();
  return end(taking, command, { outcome: after, fault, detail: null });
}

interface About {
  command: Command;
  /** In an earlier life of this process. */
  wasStarted: boolean;
}

async function carryOut(taking: Taking, { command, wasStarted }: About): Promise<void> {
  if (isMoving(command)) return taking.hands.move();
  const work = obey(taking, { command, wasStarted });
  if (!LONG.has(command.kind)) return work;
  work.catch(taking.onTrouble);
}

async function obey(taking: Taking, about: { command: Order; wasStarted: boolean }): Promise<void> {
  const { memory, hands, signal } = taking;
  const { command, wasStarted } = about;
  await memory.start(command.id);
  try {
    const { detail, afterwards } = await hands.obey(command);
    await end(taking, command, { outcome: "done", fault: null, detail });
    afterwards?.();
  } catch (error) {
    if (signal.aborted) return;
    const fault = asRefusal(error, command);
    // Its transfer was moved, or is gone, because it was obeyed before the kill.
    const isMoot = wasStarted && (fault.code === "CONFLICT" || fault.code === "NOT_FOUND");
    const told = isMoot
      ? { outcome: "done" as const, fault: null }
      : { outcome: "failed" as const, fault: fault.toData() };
    await end(taking, command, { ...told, detail: null });
  }
}

async function end({ memory, outbox }: Taking, { id }: Order, outcome: CommandOutcome): Promise<void> {
  await outbox.add({ type: "command-ended", commandId: id, ...outcome });
  await memory.end(id);
}

/** A move that the state machine does not know is the person's view being old, not a fault of ours. */
function asRefusal(error: unknown, command: Order): Fault {
  const fault = toFault(error, { op: command.kind });
  if (fault.code !== "INTERNAL" || !("transferId" in command)) return fault;
  const detail = fault.context.detail;
  return new Fault("CONFLICT", {
    op: command.kind,
    subject: command.transferId,
    ...(detail === undefined ? {} : { detail }),
  });
}
