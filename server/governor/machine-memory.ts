import type { MachineMemory } from "#protocol/probe.ts";
import type { Hub } from "../hub.ts";

/** A machine of a platform by its name there; elsewhere a node is its own machine. */
export const machineOf = (nodeId: string, machineId: string | null): string => machineId ?? `node ${nodeId}`;

/**
 * What is remembered of a machine and this bucket: bad, when it was given back for it lately (whatever came before or
 * after); good, when its last probe was accepted. A rejection that led to nothing is not held against it.
 */
export async function machineMemory(
  hub: Hub,
  at: { machine: string; profileId: string },
): Promise<MachineMemory | null> {
  const { machine, profileId } = at;
  const { excludeMs, goodForMs } = hub.settings.governor;
  const now = hub.now();
  const granted = await hub.db.reallocation.findFirst({
    where: { machine, profileId, isGranted: true, at: { gt: new Date(now - excludeMs) } },
    orderBy: { at: "desc" },
  });
  if (granted !== null) {
    const { up, down } = granted;
    return { verdict: "bad", at: granted.at.getTime(), until: granted.at.getTime() + excludeMs, up, down };
  }
  const last = await hub.db.probe.findFirst({ where: { machine, profileId }, orderBy: { at: "desc" } });
  if (last === null || last.outcome !== "accept" || now - last.at.getTime() >= goodForMs) return null;
  const { up, down } = last;
  return { verdict: "good", at: last.at.getTime(), until: last.at.getTime() + goodForMs, up, down };
}
