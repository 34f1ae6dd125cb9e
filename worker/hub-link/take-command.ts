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
 * Takes a command in five steps: accepted in the journal, started in the journal, carried out, end in the outbox, ended in
 * the journal. The next start recovers from a kill between any two steps. Idempotent commands are carried out again; for
 * others the end reports the interruption.
 */

/** A command that is over once carried out, unlike those that move data, which the job runner runs and resumes. */
export type ImmediateCommand = Exclude<Command, MovingCommand>;
type ImmediateKind = ImmediateCommand["kind"];

/** Result of a command. `afterwards` runs once the result is in the outbox, because it may end the worker. */
export interface Effect {
  detail: CommandDetail | null;
  afterwards?: () => void;
}

interface CommandHandlers {
  /** Called after a command that moves data was accepted. */
  wakeJobs(): void;
  /** Carries out a command. @throws Faults of that command */
  handle(command: ImmediateCommand): Promise<Effect>;
}

export interface Taking {
  memory: CommandMemory;
  outbox: Outbox;
  handlers: CommandHandlers;
  /** Epoch ms by the hub's clock. */
  now(): number;
  /** Fires when the worker ends; unfinished commands then continue at the next start. */
  signal: AbortSignal;
  /** Called when a long command fails unexpectedly, such as when its end cannot be written. */
  onTrouble(error: unknown): void;
}

/** Commands that take long; later commands do not wait for them. */
const LONG: ReadonlySet<CommandKind> = new Set(["flush", "probe", "drain", "reallocate", "preview", "bench"]);

/** Treatment of a command that had started when the worker was killed: carried out `again`, or ended as `done` or `failed`. */
const AFTER_KILL: Readonly<Record<ImmediateKind, "again" | "done" | "failed">> = {
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
  // Repeating it would also cancel captures made since, which nobody asked for.
  "cancel-uploads": "failed",
  drain: "again",
  preview: "again",
  // Safe to repeat: the hub tells which cases are left, and none are left of a finished benchmark.
  bench: "again",
  "bench-end": "again",
  // The command was to end the worker, and the worker has ended.
  stop: "done",
  probe: "failed",
  reallocate: "failed",
};

const isLate = ({ expiresAt }: Command, now: number): boolean => expiresAt != null && now >= expiresAt;

/** Records a command, tells the hub and carries it out. A command that is already known is ignored; an expired one ends. */
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

/** Finishes, after a restart, the commands that have not ended. Those that move data are left to the job runner. */
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
  /** The command had started before this process did. */
  wasStarted: boolean;
}

async function carryOut(taking: Taking, { command, wasStarted }: About): Promise<void> {
  if (isMoving(command)) return taking.handlers.wakeJobs();
  const work = handle(taking, { command, wasStarted });
  if (!LONG.has(command.kind)) return work;
  work.catch(taking.onTrouble);
}

async function handle(taking: Taking, about: { command: ImmediateCommand; wasStarted: boolean }): Promise<void> {
  const { memory, handlers, signal } = taking;
  const { command, wasStarted } = about;
  await memory.start(command.id);
  try {
    const { detail, afterwards } = await handlers.handle(command);
    await end(taking, command, { outcome: "done", fault: null, detail });
    afterwards?.();
  } catch (error) {
    if (signal.aborted) return;
    const fault = asRefusal(error, command);
    // The command took effect before the kill, so its transfer already has the new state, or is gone.
    const isMoot = wasStarted && (fault.code === "CONFLICT" || fault.code === "NOT_FOUND");
    const told = isMoot
      ? { outcome: "done" as const, fault: null }
      : { outcome: "failed" as const, fault: fault.toData() };
    await end(taking, command, { ...told, detail: null });
  }
}

async function end({ memory, outbox }: Taking, { id }: ImmediateCommand, outcome: CommandOutcome): Promise<void> {
  await outbox.add({ type: "command-ended", commandId: id, ...outcome });
  await memory.end(id);
}

/** Makes an invalid state transition CONFLICT instead of INTERNAL: the person acted on an outdated view of the transfer. */
function asRefusal(error: unknown, command: ImmediateCommand): Fault {
  const fault = toFault(error, { op: command.kind });
  if (fault.code !== "INTERNAL" || !("transferId" in command)) return fault;
  const detail = fault.context.detail;
  return new Fault("CONFLICT", {
    op: command.kind,
    subject: command.transferId,
    ...(detail === undefined ? {} : { detail }),
  });
}
