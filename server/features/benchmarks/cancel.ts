import type { Command } from "#protocol/wire/commands.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { audit } from "#server/core/api/audit.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { newId } from "#server/platform/random-id.ts";
import type { Context } from "#server/core/api/trpc.ts";

const VALID_MS = 3_600_000;

/** Cancels a benchmark: waiting turns do not begin, running turns are told to stop, results stay. @throws Fault NOT_FOUND */
export async function cancelBenchmark(context: Context, { id }: { id: string }): Promise<{ ok: true }> {
  const { hub } = context;
  const row = await hub.db.benchmark.findUnique({ where: { id } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this benchmark" });
  if (row.state !== "running") return { ok: true };
  await hub.locks.run("benchmarks", async () => {
    const at = new Date(hub.now());
    const running = await hub.db.benchTurn.findMany({ where: { benchmarkId: id, state: "running" } });
    await hub.db.$transaction([
      hub.db.benchmark.update({ where: { id }, data: { state: "cancelled", endedAt: at } }),
      hub.db.benchTurn.updateMany({
        where: { benchmarkId: id, state: { in: ["waiting", "running"] } },
        data: { state: "cancelled", endedAt: at },
      }),
    ]);
    for (const { nodeId, id: turnId } of running) await tellToEnd(hub, { nodeId, turnId });
  });
  await audit(hub, context.caller, { action: "cancel benchmark", subject: row.name, subjectId: id });
  hub.live.markStale(["benchmarks", "commands"]);
  return { ok: true };
}

/** Tells a node to end its turn. A node that misses this is refused its next signature and its next case. */
async function tellToEnd(hub: Hub, turn: { nodeId: string; turnId: string }): Promise<void> {
  const { nodeId, turnId } = turn;
  const now = hub.now();
  const command: Command = { kind: "bench-end", id: newId(), expiresAt: now + VALID_MS, turnId };
  await hub.db.command.create({
    data: {
      id: command.id,
      requestId: `${turnId} end`,
      nodeId,
      kind: command.kind,
      transferId: "",
      body: JSON.stringify(command),
      state: "sent",
      createdAt: new Date(now),
      expiresAt: new Date(now + VALID_MS),
    },
  });
  hub.live.send(nodeId, { type: "command", command });
}
