import type * as z from "zod";
import { BUDGET_MS, judge, QUORUM_MS, type Asked } from "#protocol/links/judge-reallocation.ts";
import type { ReallocateAnswer, reallocateInput } from "#protocol/links/probe.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { LiveNode } from "#server/core/live/live-node.ts";
import { liveNodeOf } from "#server/core/nodes/live-node-of.ts";
import type { Transaction } from "#prisma/open.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { machineOf } from "./machine-memory.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";

/** Serializes the requests of the whole fleet, so that two nodes cannot both take the last of the budget. */
const LOCK = "reallocation";

async function readAsked(
  tx: Transaction,
  about: { hub: Hub; node: LiveNode; machine: string; now: number },
): Promise<Asked> {
  const { hub, node, machine, now } = about;
  const since = (ms: number) => ({ gt: new Date(now - ms) });
  const [probes, grants, last] = [
    await tx.probe.findMany({
      where: { profileId: node.profileId, at: since(QUORUM_MS) },
      orderBy: { at: "asc" },
      select: { machine: true, outcome: true },
    }),
    await tx.reallocation.findMany({
      where: { isGranted: true, at: since(Math.max(BUDGET_MS, hub.settings.reallocation.cooldownMs)) },
      select: { at: true, machine: true },
    }),
    await tx.reallocation.findFirst({
      where: { machine, isGranted: true, at: since(hub.settings.reallocation.excludeMs) },
      orderBy: { at: "desc" },
      select: { at: true },
    }),
  ];
  // Each machine counts once, by its newest probe, also when it enrolls as another node each time.
  const outcomes = new Map(probes.map((probe) => [probe.machine, probe.outcome]));
  const rejected = [...outcomes.values()].filter((outcome) => outcome === "reject").length;
  return {
    now,
    machine,
    probed: { machines: outcomes.size, rejected },
    grants: grants.map((grant) => ({ ...grant, at: grant.at.getTime() })),
    givenBackAt: last?.at.getTime() ?? null,
  };
}

/**
 * Decides whether a rejected node may give its machine back. The same request id gets the same answer and uses no budget. Nor
 * does a machine that was given back before and is still in use.
 * @throws Fault NODE_UNKNOWN, NODE_REVOKED
 */
export async function mayReallocate(
  { hub, caller }: Context & { caller: NodeCaller },
  input: z.infer<typeof reallocateInput>,
): Promise<ReallocateAnswer> {
  const node = liveNodeOf(hub, caller.nodeId);
  const { requestId, machineId, probeId } = input;
  const machine = machineOf(node.id, machineId);
  const { answer, event } = await hub.locks.run(LOCK, () =>
    hub.db.$transaction(async (tx) => {
      const before = await tx.reallocation.findUnique({ where: { id: requestId } });
      if (before !== null) {
        const isOwn = before.nodeId === node.id;
        const answer = { allowed: isOwn && before.isGranted, reason: before.reason, isHereAgain: false };
        return { answer, event: null };
      }
      const now = hub.now();
      const answer: ReallocateAnswer = judge(
        await readAsked(tx, { hub, node, machine, now }),
        hub.settings.reallocation,
      );
      const tell = async (text: string) => recordEvent(tx, { at: now, kind: "link-probed", work: "risk", node, text });
      // Its first grant still counts. A new row would use budget and extend the time for which the machine is remembered.
      if (answer.isHereAgain === true) return { answer, event: await tell(`leaves its machine: ${answer.reason}`) };
      const probe = probeId === null ? null : await tx.probe.findUnique({ where: { id: probeId } });
      const known = probe?.nodeId === node.id ? probe : await lastGrant(tx, { machine, profileId: node.profileId });
      await tx.reallocation.create({
        data: {
          id: requestId,
          at: new Date(now),
          nodeId: node.id,
          machine,
          profileId: node.profileId,
          isGranted: answer.allowed,
          reason: answer.reason,
          up: known?.up ?? null,
          down: known?.down ?? null,
          rttMs: known?.rttMs ?? null,
        },
      });
      const text = answer.allowed ? "gives its machine back" : `keeps its machine: ${answer.reason}`;
      return { answer, event: await tell(text) };
    }),
  );
  if (event !== null) emit(hub, event);
  return answer;
}

/** Returns the last grant of a machine, with the measurements that led to it. */
const lastGrant = (tx: Transaction, at: { machine: string; profileId: string }) =>
  tx.reallocation.findFirst({ where: { ...at, isGranted: true }, orderBy: { at: "desc" } });
