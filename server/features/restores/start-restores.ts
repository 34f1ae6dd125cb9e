import { stepText } from "#protocol/checkpoint/step-words.ts";
import { isExpected } from "#protocol/fleet/node-status.ts";
import type * as z from "zod";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import type { startRestoresInput, StartedRestore } from "#protocol/wire/restoring.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import type { EventRow } from "#protocol/wire/views.ts";
import type { Checkpoint, Transfer } from "#prisma/client/client.ts";
import { audit } from "#server/core/api/audit.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { profilesFor } from "#server/core/profiles/homes-of.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { stateOf, type LiveNode } from "#server/core/live/live-node.ts";
import { transferRowOf } from "#server/core/live/transfer-row.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { chooseParts, type ChosenParts } from "./choose-tensors.ts";
import { neededBytes } from "#server/core/nodes/choose-node.ts";
import { defaultTarget } from "./node-places.ts";
import { queueRestore } from "./queue-restore.ts";
import { refuseLocked } from "#server/core/checkpoints/refuse-locked.ts";
import { readStored } from "#server/core/checkpoints/manifest/stored-manifest.ts";
import { refuseArchived } from "#server/core/checkpoints/refuse-archived.ts";
import { refuseDamaged } from "#server/core/checkpoints/refuse-damaged.ts";
import { releaseRestores } from "./release-restores.ts";

type Input = z.infer<typeof startRestoresInput>;

const wordsOf = ({ run, step }: Checkpoint): string => `${stepText(step)} of ${run}`;

/**
 * Returns a complete checkpoint and the chosen part of it.
 * @throws Fault NOT_FOUND, CHECKPOINT_INCOMPLETE, CHECKPOINT_DAMAGED, OBJECT_ARCHIVED, SEAL_KEY_MISSING, those of `chooseParts`
 */
export async function readWanted(
  hub: Hub,
  input: Pick<Input, "checkpointId" | "choice">,
): Promise<{ checkpoint: Checkpoint; chosen: ChosenParts }> {
  const found = await hub.db.checkpoint.findUnique({ where: { id: input.checkpointId }, include: { content: true } });
  if (found === null) throw new Fault("NOT_FOUND", { subject: "this checkpoint" });
  const { content, ...checkpoint } = found;
  const text = content?.manifest ?? null;
  if (checkpoint.state !== "complete" || text === null) {
    throw new Fault("CHECKPOINT_INCOMPLETE", { subject: wordsOf(checkpoint) });
  }
  const chosen = await chooseParts(hub, {
    checkpointId: checkpoint.id,
    content: { manifest: text, files: content?.files ?? "[]" },
    choice: input.choice,
  });
  refuseDamaged(checkpoint, chosen.files);
  await refuseLocked(hub, checkpoint);
  const manifest = await readStored({ manifest: text, files: content?.files ?? "[]" });
  await refuseArchived(hub, checkpoint, { manifest, files: chosen.files });
  return { checkpoint, chosen };
}

/** Checks that a node can take a restore, and returns it. @throws Fault NOT_FOUND, NODE_REVOKED, CONFLICT, NO_SPACE */
export function requireNode(
  hub: Hub,
  nodeId: string,
  about: { profileIds: ReadonlySet<string>; sizeBytes: number },
): LiveNode {
  const node = hub.live.nodes.get(nodeId);
  if (node === undefined) throw new Fault("NOT_FOUND", { subject: "this node" });
  if (node.revokedAt !== null) throw new Fault("NODE_REVOKED", { subject: node.name });
  if (!about.profileIds.has(node.profileId)) {
    throw new Fault("CONFLICT", { subject: node.name, detail: "it was enrolled for another bucket profile" });
  }
  const free = isExpected(stateOf(node)) ? (node.report?.disk?.freeBytes ?? null) : null;
  const needed = neededBytes(about.sizeBytes);
  if (free !== null && free < needed) {
    const detail = `${formatBytes(free)} free, ${formatBytes(needed)} needed`;
    throw new Fault("NO_SPACE", { subject: node.name, detail });
  }
  return node;
}

/** A node and the target path of the checkpoint there. */
interface Aimed {
  node: LiveNode;
  target: string;
}

function requireTarget(node: LiveNode, checkpoint: Checkpoint): string {
  const target = defaultTarget(node, checkpoint);
  if (target !== null) return target;
  const detail = "it names no folder outside of its watched ones; say the target";
  throw new Fault("CONFLICT", { subject: node.name, detail });
}

/**
 * Asks one or many nodes to restore a complete checkpoint, all of it or some files. The transfers exist at once, so that the
 * pages can show them; each node receives its command when its turn has come, or when it is back. A repeated request returns
 * the same restores. A node that cannot restore does not block the others.
 * @throws Fault of `readWanted`
 */
export async function startRestores(context: Context, input: Input): Promise<{ restores: StartedRestore[] }> {
  const { hub } = context;
  const nameOf = (nodeId: string) => hub.live.nodes.get(nodeId)?.name ?? null;
  const knownOf = (rows: readonly { nodeId: string; transferId: string }[]): StartedRestore[] =>
    rows.map(({ nodeId, transferId }) => ({ nodeId, nodeName: nameOf(nodeId), transferId, fault: null }));
  const batch = { where: { batchId: input.requestId, requestId: { startsWith: `${input.requestId} ` } } };
  const known = await hub.db.queuedRestore.findMany(batch);
  if (known.length > 0) return { restores: knownOf(known) };
  const { checkpoint, chosen } = await readWanted(hub, input);
  const about = { profileIds: await profilesFor(hub.db, checkpoint), sizeBytes: chosen.sizeBytes };
  const judged = [...new Set(input.nodeIds)].map((nodeId) => {
    try {
      const node = requireNode(hub, nodeId, about);
      return { nodeId, node: { node, target: input.targetPath ?? requireTarget(node, checkpoint) }, fault: null };
    } catch (error) {
      return { nodeId, node: null, fault: toFault(error) };
    }
  });
  const nodes = judged.flatMap(({ node }) => (node === null ? [] : [node]));
  const now = hub.now();
  const made = await hub.db.$transaction(
    async (tx) => {
      const twins = await tx.queuedRestore.findMany(batch);
      if (twins.length > 0) return { twins, rows: [], event: null };
      const rows: { row: Transfer; node: LiveNode }[] = [];
      for (const [position, { node, target }] of nodes.entries()) {
        const { revokedAt } = await tx.node.findUniqueOrThrow({ where: { id: node.id } });
        if (revokedAt !== null) throw new Fault("NODE_REVOKED", { subject: node.name });
        const row = await queueRestore(tx, {
          requestId: `${input.requestId} ${node.id}`,
          batchId: input.requestId,
          nodeId: node.id,
          checkpoint,
          targetPath: target,
          files: chosen.files,
          tensors: chosen.tensors?.patterns ?? null,
          amounts: chosen,
          mayFallBack: input.mayFallBack,
          position,
          at: new Date(now),
        });
        rows.push({ row, node });
      }
      return { twins: [], rows, event: await tellStart(tx, { checkpoint, chosen, nodes, now }) };
    },
    { timeout: 60_000 },
  );
  if (made.twins.length > 0) return { restores: knownOf(made.twins) };
  for (const { row, node } of made.rows) hub.live.putTransfer(transferRowOf(row, node.name), { toWrite: "now" });
  const [first] = made.rows;
  if (first !== undefined) {
    const to = nodes.length === 1 ? first.node.name : `${nodes.length} nodes`;
    const subject = `${partWords(chosen)}${wordsOf(checkpoint)} on ${to}`;
    await audit(hub, context.caller, { action: "restore", subject, subjectId: first.row.id });
  }
  emit(hub, made.event, ["transfers", "checkpoints"]);
  hub.live.mayRestoresWait = true;
  await releaseRestores(hub);
  const ids = new Map(made.rows.map(({ row, node }) => [node.id, row.id]));
  return {
    restores: judged.map(({ nodeId, fault }) => ({
      nodeId,
      nodeName: nameOf(nodeId),
      transferId: ids.get(nodeId) ?? null,
      fault: fault?.toData() ?? null,
    })),
  };
}

const partWords = ({ files, fileCount, tensors }: ChosenParts): string =>
  tensors !== null
    ? `${formatCount(tensors.count)} ${tensors.count === 1 ? "tensor" : "tensors"} of `
    : files === null
      ? ""
      : `${formatCount(fileCount)} ${fileCount === 1 ? "file" : "files"} of `;

async function tellStart(
  tx: Parameters<typeof recordEvent>[0],
  about: { checkpoint: Checkpoint; chosen: ChosenParts; nodes: readonly Aimed[]; now: number },
): Promise<EventRow | null> {
  const { checkpoint, chosen, nodes, now } = about;
  const [first] = nodes;
  if (first === undefined) return null;
  const isSame = nodes.every(({ target }) => target === first.target);
  const what = `${partWords(chosen)}${wordsOf(checkpoint)} to ${isSame ? first.target : "their folders for restores"}`;
  const text = nodes.length === 1 ? `restores ${what}` : `${formatCount(nodes.length)} nodes are to restore ${what}`;
  const line = { at: now, kind: "restore-started" as const, work: "moving" as const, run: checkpoint.run };
  const node = nodes.length === 1 ? { node: first.node } : {};
  return recordEvent(tx, { ...line, ...node, step: Number(checkpoint.step), text });
}
