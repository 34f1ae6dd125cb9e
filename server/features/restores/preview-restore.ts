import { stepText } from "#protocol/checkpoint/step-words.ts";
import { isExpected } from "#protocol/fleet/node-status.ts";
import type * as z from "zod";
import type { Command } from "#protocol/wire/commands.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { runName } from "#protocol/base/names.ts";
import type { previewRestoreInput } from "#protocol/wire/restoring.ts";
import { countUp } from "#server/platform/counters.ts";
import { profilesFor } from "#server/core/profiles/homes-of.ts";
import { stateOf } from "#server/core/live/live-node.ts";
import { newId } from "#server/platform/random-id.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { audit } from "#server/core/api/audit.ts";
import { readWanted, requireNode } from "./start-restores.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/** Short, because a person waits for the answer. */
const VALID_MS = 60_000;

/**
 * Asks a node what a restore would do there: the result of the command is the answer. Writes nothing on the node.
 * @throws Fault as `startRestores`; CONFLICT when the node is not online to answer
 */
export async function previewRestore(
  { hub, caller }: Context & { caller: PersonCaller },
  input: z.infer<typeof previewRestoreInput>,
): Promise<{ requestId: string }> {
  const known = await hub.db.command.findFirst({ where: { batchId: input.requestId } });
  if (known !== null) return { requestId: input.requestId };
  const { checkpoint, chosen } = await readWanted(hub, input);
  // Missing disk space is part of the answer, not a refusal.
  const node = requireNode(hub, input.nodeId, { profileIds: await profilesFor(hub.db, checkpoint), sizeBytes: 0 });
  const state = stateOf(node);
  if (!isExpected(state))
    throw new Fault("CONFLICT", { subject: node.name, detail: `it is ${state} and cannot answer` });
  const now = hub.now();
  const run = runName.parse(checkpoint.run);
  const order: Command = {
    kind: "preview",
    id: newId(),
    expiresAt: now + VALID_MS,
    checkpointId: checkpoint.id,
    run,
    step: Number(checkpoint.step),
    targetPath: input.targetPath,
    ...(chosen.files === null ? {} : { files: chosen.files }),
    ...(chosen.tensors === null ? {} : { tensors: chosen.tensors.patterns }),
  };
  await hub.db.command.create({
    data: {
      id: order.id,
      requestId: `${input.requestId} ${node.id}`,
      batchId: input.requestId,
      nodeId: node.id,
      kind: order.kind,
      transferId: "",
      checkpointId: checkpoint.id,
      run,
      actor: caller.person.email,
      body: JSON.stringify(order),
      state: "sent",
      createdAt: new Date(now),
      expiresAt: new Date(now + VALID_MS),
    },
  });
  countUp(hub.counters.commands, "sent");
  hub.live.send(node.id, { type: "command", command: order });
  const subject = `${stepText(checkpoint.step)} of ${checkpoint.run} on ${node.name}`;
  await audit(hub, caller, { action: "preview restore", subject, subjectId: order.id });
  hub.live.markStale(["commands"]);
  return { requestId: input.requestId };
}
