import type { Command } from "#protocol/commands.ts";
import { Fault, toFault } from "#protocol/fault.ts";
import { isOwn, type CommandMemory } from "./command-memory.ts";
import type { Outbox } from "./outbox.ts";

/** What a command may do on this node: a closed list. */
interface CommandHands {
  restore(): void;
  steer(transferId: string, wish: "cancel" | "pause" | "resume" | "retry"): Promise<void>;
}

export interface Taking {
  memory: CommandMemory;
  outbox: Outbox;
  hands: CommandHands;
  /** Epoch ms. */
  now(): number;
}

/** Takes a command: remembers it, says so, carries it out. One that was taken before does nothing. */
export async function takeCommand(taking: Taking, command: Command): Promise<void> {
  const { memory, outbox, now } = taking;
  if (memory.has(command.id)) return;
  await memory.accept(command, now());
  await outbox.add({ type: "command-accepted", commandId: command.id });
  await carryOut(taking, command);
}

/** After a restart: what was taken and did not end. A restore goes on by itself. */
export async function finishTaken(taking: Taking): Promise<void> {
  for (const { command } of taking.memory.open()) {
    if (isOwn(command)) continue;
    await taking.outbox.add({ type: "command-accepted", commandId: command.id });
    if (command.kind !== "restore") await carryOut(taking, command);
  }
}

async function carryOut(taking: Taking, command: Command): Promise<void> {
  const { memory, outbox, hands } = taking;
  switch (command.kind) {
    case "restore":
      hands.restore();
      return;
    case "cancel":
    case "pause":
    case "resume":
    case "retry": {
      const fault = await hands.steer(command.transferId, command.kind).then(
        () => null,
        (error: unknown) => asRefusal(error, command),
      );
      const outcome = fault === null ? "done" : "failed";
      await outbox.add({ type: "command-ended", commandId: command.id, outcome, fault: fault?.toData() ?? null });
      await memory.end(command.id);
    }
  }
}

/** A move that the state machine does not know is the person's view being old, not a fault of ours. */
function asRefusal(error: unknown, command: Exclude<Command, { kind: "restore" }>): Fault {
  const fault = toFault(error, { op: command.kind });
  if (fault.code !== "INTERNAL") return fault;
  const detail = fault.context.detail;
  return new Fault("CONFLICT", {
    op: command.kind,
    subject: command.transferId,
    ...(detail === undefined ? {} : { detail }),
  });
}
