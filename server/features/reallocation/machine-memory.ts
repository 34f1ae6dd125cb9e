import type { MachineMemory, ProbeOutcome } from "#protocol/links/probe.ts";
import { rememberedOf } from "#protocol/links/recall-machine.ts";
import type { Hub } from "#server/core/api/hub.ts";

const OWN = "node ";

/** Returns the platform's name of a machine; without one, a node is its own machine. */
export const machineOf = (nodeId: string, machineId: string | null): string => machineId ?? `${OWN}${nodeId}`;

/** Returns whether a platform named the machine, and so could give another one instead. */
export const isRented = (machine: string): boolean => !machine.startsWith(OWN);

/** Returns what is remembered of a machine's link to this bucket. */
export async function machineMemory(
  hub: Hub,
  at: { machine: string; profileId: string },
): Promise<MachineMemory | null> {
  const { machine, profileId } = at;
  const { reallocation: limits } = hub.settings;
  const now = hub.now();
  const granted = await hub.db.reallocation.findFirst({
    where: { machine, profileId, isGranted: true, at: { gt: new Date(now - limits.excludeMs) } },
    orderBy: { at: "desc" },
    select: { at: true, up: true, down: true, rttMs: true },
  });
  const last = await hub.db.probe.findFirst({
    where: { machine, profileId },
    orderBy: { at: "desc" },
    select: { at: true, up: true, down: true, rttMs: true, outcome: true },
  });
  const past = {
    granted: granted === null ? null : { ...granted, at: granted.at.getTime() },
    last: last === null ? null : { ...last, at: last.at.getTime(), outcome: last.outcome as ProbeOutcome },
  };
  return rememberedOf(past, { limits, now });
}
