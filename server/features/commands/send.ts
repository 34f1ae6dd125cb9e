import { isExpected } from "#protocol/fleet/node-status.ts";
import type * as z from "zod";
import type { Command } from "#protocol/wire/commands.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { fitsNode, fitsPattern } from "#protocol/base/scope.ts";
import { commandWords } from "#protocol/wire/command-words.ts";
import { MOST_NODES, type sendCommandInput, type SentCommand } from "#protocol/wire/send-command.ts";
import { formatCount, formatRate } from "#protocol/base/units.ts";
import { audit } from "#server/core/api/audit.ts";
import { endWait } from "#server/core/live/job-memory.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { stateOf, type LiveNode } from "#server/core/live/live-node.ts";
import { newId } from "#server/platform/random-id.ts";
import type { Context } from "#server/core/api/trpc.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

type Input = z.infer<typeof sendCommandInput>;

/** Returns the nodes of a request: named nodes once each, in their order; matches of a filter sorted by name. */
function targetsOf(hub: Hub, to: Input["to"]): { id: string; node: LiveNode | null }[] {
  const { nodes } = hub.live;
  if ("nodeIds" in to) return [...new Set(to.nodeIds)].map((id) => ({ id, node: nodes.get(id) ?? null }));
  const { scope, profileId, nodes: which } = to.filter;
  const found = [...nodes.values()].filter((node) => {
    const state = stateOf(node);
    if (state === "revoked" || (which === "online" && !isExpected(state))) return false;
    if (profileId !== null && node.profileId !== profileId) return false;
    return fitsNode(node, scope) && (scope.runs === null || runsOne(node, scope.runs));
  });
  return found.sort((a, b) => (a.name < b.name ? -1 : 1)).map((node) => ({ id: node.id, node }));
}

/** Commands after which a node takes no job. */
const ENDS_WORK: ReadonlySet<string> = new Set<Command["kind"]>(["drain", "stop", "reallocate"]);

const runsOne = (node: LiveNode, pattern: string): boolean =>
  node.report?.runs.some(({ run }) => fitsPattern(run, pattern)) ?? false;

const faultAt = (node: LiveNode | null): Fault | null =>
  node === null
    ? new Fault("NOT_FOUND", { subject: "this node" })
    : node.revokedAt === null
      ? null
      : new Fault("NODE_REVOKED", { subject: node.name });

/**
 * Sends one order to one node or to thousands. Commands are stored first, then sent to connected nodes; other nodes receive
 * them when they return, until the commands expire. A repeated request returns the same commands.
 * @throws Fault NOT_FOUND when a filter fits no node, TOO_LARGE, BAD_INPUT
 */
export async function sendCommand(
  context: Context & { caller: PersonCaller },
  input: Input,
): Promise<{ sent: SentCommand[] }> {
  const { hub, caller } = context;
  const { requestId, order, validMs } = input;
  if (order.kind === "limit" && order.up === undefined && order.down === undefined) {
    throw new Fault("BAD_INPUT", { subject: "limit", detail: "it names no direction: say up, down or both" });
  }
  const targets = targetsOf(hub, input.to);
  if (targets.length === 0) throw new Fault("NOT_FOUND", { subject: "a node", detail: "the filter fits none" });
  if (targets.length > MOST_NODES) {
    const detail = `it is meant for ${targets.length} nodes; one request reaches ${MOST_NODES}`;
    throw new Fault("TOO_LARGE", { subject: "nodes", detail });
  }
  const now = hub.now();
  const expiresAt = now + validMs;
  const made = targets.map(({ id, node }) => ({ id, node, fault: faultAt(node), commandId: newId() }));
  const wanted = made.filter(({ fault }) => fault === null);
  const what = commandWords(order, (rate) => formatRate(rate, "bytes"));
  const [first] = wanted;
  const isOne = wanted.length === 1;
  const text = isOne ? `is asked to ${what}` : `${formatCount(wanted.length)} nodes are asked to ${what}`;
  const bodyOf = (commandId: string): Command => ({ ...order, id: commandId, expiresAt });
  const run = "run" in order ? order.run : null;
  const { known, event } = await hub.db.$transaction(
    async (tx) => {
      const known = await tx.command.findMany({ where: { batchId: requestId } });
      if (known.length > 0 || first === undefined) return { known, event: null };
      await tx.command.createMany({
        data: wanted.map(({ id, commandId }) => ({
          id: commandId,
          requestId: `${requestId} ${id}`,
          batchId: requestId,
          nodeId: id,
          kind: order.kind,
          transferId: "",
          run,
          actor: caller.person.email,
          body: JSON.stringify(bodyOf(commandId)),
          state: "sent",
          createdAt: new Date(now),
          expiresAt: new Date(expiresAt),
        })),
      });
      const line = { at: now, kind: "command-sent" as const, work: "moving" as const, text };
      const node = isOne && first.node !== null ? { node: first.node } : {};
      return { known, event: await recordEvent(tx, { ...line, ...node, ...(run === null ? {} : { run }) }) };
    },
    { timeout: 60_000 },
  );
  if (known.length > 0) {
    const sent = known.map((row) =>
      answerOf(hub.live.nodes.get(row.nodeId), { ...row, commandId: row.id, fault: null }),
    );
    return { sent };
  }
  for (const { id, commandId } of wanted) {
    if (ENDS_WORK.has(order.kind)) endWait(hub.jobs, id);
    hub.live.send(id, { type: "command", command: bodyOf(commandId) });
  }
  if (first !== undefined) {
    const subject = isOne ? (first.node?.name ?? first.id) : `${wanted.length} nodes`;
    await audit(hub, caller, { action: `command: ${what}`, subject });
  }
  emit(hub, event, ["commands"]);
  return {
    sent: made.map(({ id, node, commandId, fault }) => answerOf(node ?? undefined, { nodeId: id, commandId, fault })),
  };
}

function answerOf(
  node: LiveNode | undefined,
  about: { nodeId: string; commandId: string; fault: Fault | null },
): SentCommand {
  const { nodeId, commandId, fault } = about;
  return {
    nodeId,
    nodeName: node?.name ?? null,
    commandId: fault === null ? commandId : null,
    isConnected: (node?.mailboxes.size ?? 0) > 0,
    fault: fault?.toData() ?? null,
  };
}
