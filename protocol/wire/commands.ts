import * as z from "zod";
import { metricValue, recordOf } from "../base/bounded.ts";
import { benchCommands, checkpointCommands, nodeCommands } from "./command-shapes.ts";
import { id } from "../base/names.ts";
import { faultData } from "../faults/fault-data.ts";
import { nodeSettings } from "./hello.ts";

/**
 * Commands of a hub to a node: a closed list without a shell. Every command has an id. It is delivered at least once: again
 * after each reconnection until the node reports its end. It takes effect once, because the node stores the ids it has
 * accepted. A command with an expiry is never carried out later: it ends as `expired`, at the hub and at the node.
 */
const envelope = {
  id,
  /** Epoch ms by the hub's clock; null or absent: no expiry. */
  expiresAt: z.number().int().min(0).nullable().optional(),
};
export const command = z.discriminatedUnion("kind", [
  checkpointCommands.restore.extend(envelope),
  checkpointCommands.verify.extend(envelope),
  checkpointCommands.drill.extend(envelope),
  checkpointCommands.copy.extend(envelope),
  checkpointCommands.preview.extend(envelope),
  checkpointCommands.cancel.extend(envelope),
  checkpointCommands.pause.extend(envelope),
  checkpointCommands.resume.extend(envelope),
  checkpointCommands.retry.extend(envelope),
  benchCommands.bench.extend(envelope),
  benchCommands.benchEnd.extend(envelope),
  nodeCommands.hold.extend(envelope),
  nodeCommands.release.extend(envelope),
  nodeCommands.limit.extend(envelope),
  nodeCommands.priority.extend(envelope),
  nodeCommands.flush.extend(envelope),
  nodeCommands.retryUploads.extend(envelope),
  nodeCommands.cancelUploads.extend(envelope),
  nodeCommands.probe.extend(envelope),
  nodeCommands.drain.extend(envelope),
  nodeCommands.stop.extend(envelope),
  nodeCommands.reallocate.extend(envelope),
]);
export type Command = z.infer<typeof command>;
export type CommandKind = Command["kind"];

/** Commands that become a transfer of their own and end with it. */
export const MOVING_KINDS = ["restore", "verify", "drill", "copy"] as const;
export type MovingCommand = Extract<Command, { kind: (typeof MOVING_KINDS)[number] }>;
export const isMoving = (command: Command): command is MovingCommand => isMovingKind(command.kind);
export const isMovingKind = (kind: string): boolean => MOVING_KINDS.some((one) => one === kind);

/** One line of the hub's stream to a node. */
export const nodeMessage = z.discriminatedUnion("type", [
  z.object({ type: z.literal("settings"), settings: nodeSettings }),
  z.object({ type: z.literal("command"), command }),
  /** The profile changed: the node sends `hello` again to read the new store. */
  z.object({ type: z.literal("refresh") }),
  /** The node creates a new credential for itself. */
  z.object({ type: z.literal("rotate") }),
  /** A job is assigned to the node, which calls `takeJob` to get it. */
  z.object({ type: z.literal("job") }),
]);
export type NodeMessage = z.infer<typeof nodeMessage>;

/** `sent`: stored at the hub. `accepted`: in the node's own journal, so that it certainly ends in one of the other states. */
export const COMMAND_STATES = ["sent", "accepted", "done", "failed", "cancelled", "expired"] as const;
export const commandState = z.enum(COMMAND_STATES);
export type CommandState = z.infer<typeof commandState>;

export const COMMAND_MOVES: Readonly<Record<CommandState, readonly CommandState[]>> = {
  sent: ["accepted", "done", "failed", "cancelled", "expired"],
  accepted: ["done", "failed", "cancelled", "expired"],
  done: [],
  failed: [],
  cancelled: [],
  expired: [],
};

/**
 * States that the hub may set without hearing from the node. A later report of the node that it had accepted the command in
 * time overrides them.
 */
export const PRESUMED_BY_HUB: readonly CommandState[] = ["cancelled", "expired"];

/** Returns the states from which a command may reach `to`, for the condition of a database update. */
export const commandStatesBefore = (to: CommandState): CommandState[] =>
  COMMAND_STATES.filter((from) => COMMAND_MOVES[from].includes(to));

/** A few facts about the result: rates, counts, a reason. */
const commandDetail = recordOf(
  z.string().max(32),
  z.union([z.string().max(1024), metricValue, z.boolean(), z.null()]),
  16,
);
export type CommandDetail = z.infer<typeof commandDetail>;

export const commandOutcome = z.object({
  outcome: z.enum(["done", "failed", "cancelled", "expired"]),
  fault: faultData.nullable(),
  detail: commandDetail.nullable().optional(),
});
export type CommandOutcome = z.infer<typeof commandOutcome>;
