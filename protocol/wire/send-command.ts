import * as z from "zod";
import { commandState, type CommandDetail, type CommandKind, type CommandState } from "./commands.ts";
import type { FaultData } from "../faults/fault.ts";
import { id, runName } from "../base/names.ts";
import { nodeCommand, type NodeCommand } from "./command-shapes.ts";
import { scope } from "../base/scope.ts";

/** Commands that people send to nodes, and what they see of them. */

/** Largest number of nodes in one request. */
export const MOST_NODES = 10_000;
const DAY_MS = 86_400_000;

const filter = z.object({
  scope,
  /** Null: nodes of every bucket profile. */
  profileId: id.nullable().default(null),
  /** `all` includes nodes that are silent or have left: they receive the command when they return in time. */
  nodes: z.enum(["all", "online"]).default("all"),
});

export const sendCommandInput = z.object({
  /** Made by the client, so that a repeated request sends nothing twice. */
  requestId: id,
  to: z.union([z.object({ nodeIds: z.array(id).min(1).max(MOST_NODES) }), z.object({ filter })]),
  order: nodeCommand,
  /** Validity: a node that has not accepted the command by then never carries it out. */
  validMs: z
    .number()
    .int()
    .min(1_000)
    .max(30 * DAY_MS)
    .default(3_600_000),
});

export const listCommandsInput = z.object({
  nodeId: id.nullable().default(null),
  run: runName.nullable().default(null),
  /** Only commands of this request. */
  requestId: id.nullable().default(null),
  states: z.array(commandState).max(6).default([]),
  /** Id of the last row of the previous page. */
  cursor: id.nullable().default(null),
  limit: z.number().int().min(1).max(200).default(50),
});

/** Result of a request for one node: a command, or the reason why there is none. */
export interface SentCommand {
  nodeId: string;
  nodeName: string | null;
  commandId: string | null;
  /** Whether the node has an open connection and receives the command at once. */
  isConnected: boolean;
  fault: FaultData | null;
}

export interface CommandRow {
  id: string;
  requestId: string | null;
  nodeId: string;
  nodeName: string;
  kind: CommandKind;
  /** Null for commands about one transfer. */
  order: NodeCommand | null;
  run: string | null;
  state: CommandState;
  fault: FaultData | null;
  detail: CommandDetail | null;
  /** The person who requested it; null when that was not recorded. */
  by: string | null;
  createdAt: number;
  expiresAt: number | null;
  acceptedAt: number | null;
  endedAt: number | null;
}
