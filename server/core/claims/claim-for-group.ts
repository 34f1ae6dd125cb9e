import type { GroupClaim } from "#protocol/checkpoint/pieces.ts";
import type { Epoch, EpochMember } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import { branchOfRow } from "../runs/passed-over.ts";
import { isOfEpoch } from "../runs/is-writer.ts";
import { requireFree, type Claimant } from "./may-claim.ts";
import { RESUMABLE } from "../runs/newest.ts";

/**
 * Lets several nodes write one epoch together, each the pieces on its own disk ([decision 63]). The first node opens it; the
 * others join and resume from the same checkpoint. A node whose program restarts, or that replaces another, opens the next
 * epoch, which the others join when they restart. So all pieces of an epoch come from one run of the training program.
 */

/** Returns what a node has to do about the current epoch: `open` the next one, `join` it, or `go on` in it. */
export async function findGroupPlace(
  { hub, run, node }: Claimant,
  about: { group: GroupClaim; last: Epoch | null; highestSeen: number },
): Promise<"open" | "join" | "go on"> {
  const { group, last, highestSeen } = about;
  if (last === null) return "open";
  if (last.groupOf !== group.of || last.epoch < highestSeen) {
    const isMember = (await hub.db.epochMember.count({ where: { run, epoch: last.epoch, nodeId: node.id } })) > 0;
    const holder = await memberOf(hub.db, last, group.rank);
    if (last.groupOf === null || holder !== null)
      if (!isMember) await requireFree({ hub, run, node }, holderOf(last, holder));
    return "open";
  }
  const holder = await memberOf(hub.db, last, group.rank);
  if (holder === null) {
    if (group.start === undefined) return "join";
    // The epoch has checkpoints without this node: a program that starts now resumes from them, in a new epoch.
    const where = { run, writerEpoch: last.epoch, state: "complete", ...RESUMABLE };
    return (await hub.db.checkpoint.count({ where })) > 0 ? "open" : "join";
  }
  if (holder.nodeId !== node.id) {
    await requireFree({ hub, run, node }, holderOf(last, holder));
    return "open";
  }
  return group.start === undefined || group.start === holder.start ? "go on" : "open";
}

/**
 * Returns the current epoch when nodes of the group opened it, and each epoch since `since`, as a new line while their programs
 * ran: then the node belongs to it as to `since`. Null: they did not, or another node has its place.
 */
export async function findLine(
  { hub, run, node }: Claimant,
  { group, since, step }: { group: GroupClaim; since: number; step?: number | undefined },
): Promise<Epoch | null> {
  const epochs = await hub.db.epoch.findMany({ where: { run, epoch: { gte: since } }, orderBy: { epoch: "asc" } });
  const [first, ...lines] = epochs;
  const last = lines.at(-1);
  if (first?.epoch !== since || last === undefined || !(await isOfEpoch(hub.db, first, node.id))) return null;
  if (!lines.every(({ groupOf, branch }) => groupOf === group.of && branch !== null)) return null;
  // A node that was away asks for its lines one after another, also when the others are at a later one.
  const wanted = lines.find(({ branch }) => branchOfRow(branch)?.step === step) ?? last;
  const holder = await memberOf(hub.db, wanted, group.rank);
  return holder === null || holder.nodeId === node.id ? wanted : null;
}

const memberOf = (db: Pick<Transaction, "epochMember">, { run, epoch }: Epoch, rank: number) =>
  db.epochMember.findUnique({ where: { run_epoch_rank: { run, epoch, rank } } });

const holderOf = (last: Epoch, holder: EpochMember | null): Epoch =>
  holder === null ? last : { ...last, nodeId: holder.nodeId };

/** Records a node as a member of an epoch. */
export async function addMember(
  tx: Pick<Transaction, "epochMember">,
  at: { run: string; epoch: number; nodeId: string; group: GroupClaim; now: number },
): Promise<void> {
  const { run, epoch, nodeId, group, now } = at;
  const data = { nodeId, start: group.start ?? "", joinedAt: new Date(now) };
  await tx.epochMember.upsert({
    where: { run_epoch_rank: { run, epoch, rank: group.rank } },
    update: data,
    create: { run, epoch, rank: group.rank, ...data },
  });
}

/** Joins the current epoch and records an event. */
export async function joinEpoch({ hub, run, node }: Claimant, last: Epoch, group: GroupClaim): Promise<void> {
  const { epoch } = last;
  const now = hub.now();
  const text = `joined ${run} as node ${group.rank} of ${group.of} (epoch ${epoch})`;
  const event = await hub.db.$transaction(async (tx) => {
    await addMember(tx, { run, epoch, nodeId: node.id, group, now });
    return recordEvent(tx, { at: now, kind: "epoch-claimed", work: "moving", node, run, text });
  });
  hub.live.joinWriters(run, { nodeId: node.id, epoch });
  emit(hub, event, ["runs"]);
}
