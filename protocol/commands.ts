import * as z from "zod";
import { id, runName, step } from "./names.ts";
import { faultData } from "./fault-data.ts";
import { nodeSettings } from "./hello.ts";

/**
 * What a hub may ask of a node: a closed list, no shell. Every command has an id, is delivered at least once (again after
 * each reconnection until the node reports its end) and takes effect once (the node keeps the ids it has accepted).
 */

export const command = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("restore"),
    id,
    /** The transfer this restore shows up as, chosen by the hub so that the screen can follow it from the first moment. */
    transferId: id,
    checkpointId: id,
    run: runName,
    step,
    /** Absolute folder on the node. An existing one is kept until the new one is verified, then set aside and removed. */
    targetPath: z.string().min(1).max(1024),
  }),
  z.object({ kind: z.literal("cancel"), id, transferId: id }),
  z.object({ kind: z.literal("pause"), id, transferId: id }),
  z.object({ kind: z.literal("resume"), id, transferId: id }),
  z.object({ kind: z.literal("retry"), id, transferId: id }),
]);
export type Command = z.infer<typeof command>;

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
export const COMMAND_STATES = ["sent", "accepted", "done", "failed", "cancelled"] as const;
export type CommandState = (typeof COMMAND_STATES)[number];

export const COMMAND_MOVES: Readonly<Record<CommandState, readonly CommandState[]>> = {
  sent: ["accepted", "done", "failed", "cancelled"],
  accepted: ["done", "failed", "cancelled"],
  done: [],
  failed: [],
  cancelled: [],
};

/** The states from which a command may come to `to`: what a database update asks for. */
export const commandStatesBefore = (to: CommandState): CommandState[] =>
  COMMAND_STATES.filter((from) => COMMAND_MOVES[from].includes(to));

export const commandOutcome = z.object({
  outcome: z.enum(["done", "failed", "cancelled"]),
  fault: faultData.nullable(),
});
