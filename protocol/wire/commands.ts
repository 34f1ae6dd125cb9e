import * as z from "zod";
import { metricValue, recordOf } from "../base/bounded.ts";
import { benchOrders, checkpointOrders, nodeOrders } from "./orders.ts";
import { id } from "../base/names.ts";
import { faultData } from "../faults/fault-data.ts";
import { nodeSettings } from "./hello.ts";

/**
 * What a hub may ask of a node: a closed list, no shell. Every command has an id, is delivered at least once (again after
 * each reconnection until the node reports its end) and takes effect once (the node keeps the ids it has accepted). One
 * that says until when it may be accepted is never carried out later than that: it ends as expired, at the hub and at the
 * node.
 */
const envelope = {
  id,
  /** Epoch ms by the hub's clock; null or left out: it waits for ever. */
  expiresAt: z.number().int().min(0).nullable().optional(),
};
export const command = z.discriminatedUnion("kind", [
  checkpointOrders.restore.extend(envelope),
  checkpointOrders.verify.extend(envelope),
  checkpointOrders.drill.extend(envelope),
  checkpointOrders.copy.extend(envelope),
  checkpointOrders.preview.extend(envelope),
  checkpointOrders.cancel.extend(envelope),
  checkpointOrders.pause.extend(envelope),
  checkpointOrders.resume.extend(envelope),
  checkpointOrders.retry.extend(envelope),
  benchOrders.bench.extend(envelope),
  benchOrders.benchEnd.extend(envelope),
  nodeOrders.hold.extend(envelope),
  nodeOrders.release.extend(envelope),
  nodeOrders.limit.extend(envelope),
  nodeOrders.priority.extend(envelope),
  nodeOrders.flush.extend(envelope),
  nodeOrders.retryUploads.extend(envelope),
  nodeOrders.cancelUploads.extend(envelope),
  nodeOrders.probe.extend(envelope),
  nodeOrders.drain.extend(envelope),
  nodeOrders.stop.extend(envelope),
  nodeOrders.reallocate.extend(envelope),
]);
export type Command = z.infer<typeof command>;
export type CommandKind = Command["kind"];

/** Those that become a transfer of their own and end with it. */
export const MOVING_KINDS = ["restore", "verify", "drill", "copy"] as const;
export type MovingCommand = Extract<Command, { kind: (typeof MOVING_KINDS)[number] }>;
export const isMoving = (command: Command): command is MovingCommand => isMovingKind(command.kind);
export const isMovingKind = (kind: string): boolean => MOVING_KINDS.some((one) => one === kind);

/** One line of the hub's stream to a node. */
export const nodeMessage = z.discriminatedUnion("type", [
  z.object({ type: z.literal("settings"), settings: nodeSettings }),
  z.object({ type: z.literal("command"), command }),
  /** The profile changed: say hello again to read the new store. */
  z.object({ type: z.literal("refresh") }),
  /** The node makes itself a new credential. */
  z.object({ type: z.literal("rotate") }),
]);
export type NodeMessage = z.infer<typeof nodeMessage>;

/** `sent`: stored at the hub; `accepted`: in the node's own journal, so it will end one way or the other. */
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
 * The hub gives a command up without having heard of its node. The node's own later word that it had accepted it in time
 * is the truth, and overrules that.
 */
export const PRESUMED_BY_HUB: readonly CommandState[] = ["cancelled", "expired"];

/** The states from which a command may come to `to`: what a database update asks for. */
export const commandStatesBefore = (to: CommandState): CommandState[] =>
  COMMAND_STATES.filter((from) => COMMAND_MOVES[from].includes(to));

/** A few facts about what came of it: rates, counts, a reason. */
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
