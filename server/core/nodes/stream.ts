import { command, type Command, type NodeMessage } from "#protocol/wire/commands.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Hub } from "../api/hub.ts";
import { endWait } from "../live/job-memory.ts";
import { createMailbox, type LiveNode, type Mailbox } from "../live/live-node.ts";
import type { Context } from "../api/trpc.ts";
import { hearFrom } from "./hear-from.ts";
import { liveNodeOf } from "./live-node-of.ts";
import { isRotationDue } from "./rotate.ts";
import { trpcError } from "../api/trpc-error.ts";
import type { NodeCaller } from "../api/caller.ts";

/**
 * Streams messages to a node: settings, then every command that has not ended, then new messages. Commands are repeated at
 * each reconnection, and the node ignores ids it already has. Revoking a node ends its stream at once.
 */

/** A fallback for a missed signal; the signal normally wakes the stream. */
const LOOK_AGAIN_MS = 120_000;

/** Returns the commands whose end the node has not reported, oldest first. */
async function openCommands(hub: Hub, nodeId: string): Promise<Command[]> {
  // Most reconnecting nodes have none, so a thousand of them at once need no query.
  if (!hub.live.mayHaveCommands.delete(nodeId)) return [];
  const notLate = { OR: [{ expiresAt: null }, { expiresAt: { gt: new Date(hub.now()) } }, { state: "accepted" }] };
  const where = { nodeId, endedAt: null, ...notLate };
  const rows = await hub.db.command
    .findMany({ where, orderBy: [{ createdAt: "asc" }, { id: "asc" }] })
    .catch((error) => {
      hub.live.mayHaveCommands.add(nodeId);
      throw error;
    });
  if (rows.length > 0) hub.live.mayHaveCommands.add(nodeId);
  return rows.map((row) => command.parse(JSON.parse(row.body)));
}

/** A worker holds one stream, but a lost connection may count as open for a while. */
const MOST_STREAMS = 4;

/** Ends the oldest streams of a node that has too many: the node listens to the newest. */
function endSurplus({ mailboxes }: LiveNode): void {
  for (const oldest of mailboxes) {
    if (mailboxes.size <= MOST_STREAMS) return;
    mailboxes.delete(oldest);
    oldest.signal.notify();
  }
}

function refuseOver(node: LiveNode, mailbox: Mailbox): void {
  if (node.revokedAt !== null) throw trpcError(new Fault("NODE_REVOKED"));
  if (mailbox.isOver) throw trpcError(new Fault("CREDENTIAL_REPLACED"));
}

/**
 * Yields messages until the stream ends. @throws SHUTTING_DOWN when the hub ends, NODE_REVOKED, CREDENTIAL_REPLACED (as tRPC
 * errors, which end the stream)
 */
export async function* streamToNode(
  { hub, caller }: Context & { caller: NodeCaller },
  signal: AbortSignal,
): AsyncGenerator<NodeMessage> {
  const node = liveNodeOf(hub, caller.nodeId);
  const mailbox = createMailbox(caller.credentialHash ?? null);
  const abort = AbortSignal.any([signal, hub.closing]);
  // The mailbox is registered before the commands are read, so that none is missed; a command may come twice.
  node.mailboxes.add(mailbox);
  // A message about a job may have gone to an earlier stream. The node asks for one after the first message of this stream.
  endWait(hub.jobs, node.id);
  endSurplus(node);
  try {
    await hearFrom(hub, node);
    yield { type: "settings", settings: hub.live.settings };
    if (isRotationDue(hub, node)) yield { type: "rotate" };
    for (const open of await openCommands(hub, node.id)) yield { type: "command", command: open };
    while (!abort.aborted) {
      refuseOver(node, mailbox);
      if (!node.mailboxes.has(mailbox)) return;
      const message = mailbox.messages.shift();
      if (message !== undefined) {
        yield message;
        continue;
      }
      await mailbox.signal.wait({ timeoutMs: LOOK_AGAIN_MS, abort });
    }
  } finally {
    node.mailboxes.delete(mailbox);
  }
  if (hub.closing.aborted) throw trpcError(new Fault("SHUTTING_DOWN"));
}
