import { isExpected } from "#protocol/fleet/node-status.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Profile } from "#prisma/client/client.ts";
import type { Hub } from "../api/hub.ts";
import { stateOf } from "../live/live-node.ts";
import { sealingOf } from "../profiles/seal-keys.ts";
import { homesOf } from "../profiles/homes-of.ts";

/**
 * Refuses settings under which pieces of several nodes ([decision 63]) cannot be joined. One manifest names the objects of
 * all nodes, so the pieces must be plain and in one bucket. Encrypted pieces would each have a key of their own, and a copy
 * would have to rename the objects of every node. The refusal comes before a byte is written.
 */

/** Returns why pieces of a run with these homes could not be joined; null when they can. */
function whyNotJoinable(homes: readonly Pick<Profile, "name" | "sealing">[]): string | null {
  const encrypted = homes.find((home) => sealingOf(home) !== "off");
  if (encrypted !== undefined)
    return `pieces by several nodes cannot be encrypted, and ${encrypted.name} wants everything encrypted`;
  if (homes.length < 2) return null;
  return `pieces by several nodes lie in one bucket, and this run has ${homes.length}: ${homes.map(({ name }) => name).join(", ")}`;
}

/** Checks the claim of a run that several nodes write together. @throws Fault BAD_INPUT */
export async function requireJoinable(hub: Pick<Hub, "db">, run: string): Promise<void> {
  const ids = (await homesOf(hub.db, run))?.profileIds ?? [];
  const rows = await hub.db.profile.findMany({ where: { id: { in: [...ids] } } });
  const detail = whyNotJoinable(ids.flatMap((id) => rows.find((row) => row.id === id) ?? []));
  if (detail !== null) throw new Fault("BAD_INPUT", { op: "claimEpoch", subject: run, detail });
}

/** Returns the number of nodes that write the current epoch together; null: a single node. */
async function groupOf(hub: Pick<Hub, "db">, run: string): Promise<number | null> {
  const last = await hub.db.epoch.findFirst({ where: { run }, orderBy: { epoch: "desc" }, select: { groupOf: true } });
  return last?.groupOf ?? null;
}

/** Checks new homes of a run. @throws Fault BAD_INPUT when several nodes write it together */
export async function refuseHomesOfPieces(
  hub: Pick<Hub, "db">,
  { run, homes }: { run: string; homes: readonly Pick<Profile, "name" | "sealing">[] },
): Promise<void> {
  const nodes = await groupOf(hub, run);
  const why = nodes === null ? null : whyNotJoinable(homes);
  if (why === null) return;
  throw new Fault("BAD_INPUT", { op: "homes", subject: run, detail: `${nodes} nodes write it together: ${why}` });
}

/**
 * Checks a bucket before encryption is switched on. A run that no node writes now is refused at its next claim instead.
 * @throws Fault BAD_INPUT when several nodes write a run there now
 */
export async function refuseSealingOfPieces(hub: Pick<Hub, "db" | "live">, profileId: string): Promise<void> {
  const online = [...hub.live.nodes.values()].filter((node) => isExpected(stateOf(node))).map(({ id }) => id);
  const members = await hub.db.epochMember.findMany({
    where: { nodeId: { in: online } },
    orderBy: { epoch: "desc" },
    distinct: ["run"],
    select: { run: true, epoch: true },
  });
  for (const { run, epoch } of members) {
    const last = await hub.db.epoch.findFirst({ where: { run }, orderBy: { epoch: "desc" } });
    if (last?.epoch !== epoch || last.groupOf === null) continue;
    if ((await homesOf(hub.db, run))?.profileIds.includes(profileId) !== true) continue;
    const detail = `${last.groupOf} nodes write ${run} together, and pieces cannot be encrypted; end it, or give it a bucket profile of its own`;
    throw new Fault("BAD_INPUT", { op: "encryption", subject: run, detail });
  }
}
