import { randomUUID } from "node:crypto";
import type { Stage } from "#e2e/stage/open-stage.ts";
import { waitUntil } from "#e2e/stage/wait-until.ts";
import type { Simulators } from "./drive-simulators.ts";

const COMMANDS = 400;
const EVERY_MS = 50;
const PATIENCE_MS = 10_000;

/**
 * Sends commands to random nodes, one at a time. Returns how long each took from the request to its node, ms; infinity for a
 * command that never arrived.
 */
export async function sendCommands(
  stage: Stage,
  fleet: { simulators: Simulators; nodeIds: readonly string[] },
): Promise<number[]> {
  const { simulators, nodeIds } = fleet;
  const sent: { id: string; at: number }[] = [];
  for (let count = 0; count < COMMANDS; count++) {
    const nodeId = nodeIds[Math.floor(Math.random() * nodeIds.length)] ?? "";
    const at = Date.now();
    const answer = await stage.client.commands.send.mutate({
      requestId: randomUUID(),
      order: { kind: "flush" },
      to: { nodeIds: [nodeId] },
      validMs: 3_600_000,
    });
    for (const { commandId } of answer.sent) if (commandId !== null) sent.push({ id: commandId, at });
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  const arrived = () => sent.every(({ id }) => simulators.commands.has(id));
  await waitUntil("every command arrived", arrived, { withinMs: PATIENCE_MS }).catch(() => undefined);
  return sent.map(({ id, at }) => (simulators.commands.get(id)?.at ?? Number.POSITIVE_INFINITY) - at);
}
