import { isExpected } from "#protocol/fleet/node-status.ts";
import { benchSettings, type BenchSettings } from "#protocol/benchmarks/plan-input.ts";
import type { Command } from "#protocol/wire/commands.ts";
import { Fault, type FaultData } from "#protocol/faults/fault.ts";
import type { Benchmark, BenchTurn } from "#prisma/client/client.ts";
import { countUp } from "#server/platform/counters.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { stateOf } from "#server/core/live/live-node.ts";
import { newId } from "#server/platform/random-id.ts";

/**
 * Starts the turns of benchmarks and notices how they ended. The state is in the database and read again at each tick, so that
 * a hub resumes after a kill. A node has one turn at a time, because it has one link. A bucket has as many turns as the
 * benchmark allows, counted over all benchmarks. A node that disappears fails its turn after a while; its place at the bucket
 * is free as soon as the node is silent.
 */

/** Time in which a node must accept the command of its turn. */
const VALID_MS = 600_000;
/** Silence beyond the time limit of a case that fails a turn: for a node that is online, and for one that is not. */
const QUIET_MS = 900_000;
const AWAY_MS = 600_000;
/** How long waiting turns of absent nodes are kept after everything else has ended. */
const NOBODY_MS = 600_000;

/** Advances all running benchmarks. The hub calls this at every tick; a lock keeps it to one call at a time. */
export async function runBenchmarks(hub: Hub): Promise<void> {
  const running = await hub.db.benchmark.findMany({ where: { state: "running" }, orderBy: { startedAt: "asc" } });
  if (running.length === 0) return;
  await hub.locks.run("benchmarks", async () => {
    let changed = 0;
    for (const benchmark of running) {
      // Somebody may have cancelled it while another benchmark was advanced.
      const { state } = await hub.db.benchmark.findUniqueOrThrow({ where: { id: benchmark.id } });
      if (state === "running") changed += await step(hub, benchmark);
    }
    if (changed > 0) hub.live.markStale(["benchmarks"]);
  });
}

/** Advances one benchmark. Returns how many turns changed. */
async function step(hub: Hub, benchmark: Benchmark): Promise<number> {
  const settings = benchSettings.parse(JSON.parse(benchmark.settings));
  const open = await hub.db.benchTurn.findMany({
    where: { benchmarkId: benchmark.id, state: { in: ["waiting", "running"] } },
    orderBy: { position: "asc" },
  });
  let changed = 0;
  for (const turn of open.filter(({ state }) => state === "running")) changed += await settle(hub, turn, settings);
  changed += await release(hub, benchmark);
  const left = await hub.db.benchTurn.count({
    where: { benchmarkId: benchmark.id, state: { in: ["waiting", "running"] } },
  });
  if (left > 0) return changed;
  await hub.db.benchmark.update({
    where: { id: benchmark.id },
    data: { state: "done", endedAt: new Date(hub.now()) },
  });
  return changed + 1;
}

async function settle(hub: Hub, turn: BenchTurn, settings: BenchSettings): Promise<number> {
  const command = await hub.db.command.findUnique({ where: { id: turn.commandId ?? "" } });
  const ended = command?.endedAt == null ? null : command;
  if (ended !== null) {
    const isDone = ended.state === "done";
    const fault = isDone ? null : (ended.fault ?? textOf(new Fault("CANCELLED").toData()));
    return endTurn(hub, turn, { state: isDone ? "done" : "failed", fault });
  }
  const node = hub.live.nodes.get(turn.nodeId);
  if (node === undefined || node.revokedAt !== null) {
    return endTurn(hub, turn, { state: "failed", fault: textOf(new Fault("NODE_REVOKED").toData()) });
  }
  const quietMs = hub.now() - (turn.heardAt ?? turn.startedAt ?? new Date(hub.now())).getTime();
  const mostMs = settings.timeLimitMs + (isExpected(stateOf(node)) ? QUIET_MS : AWAY_MS);
  if (quietMs <= mostMs) return 0;
  const fault = new Fault("INTERRUPTED", { op: "bench", subject: turn.nodeName }).toData();
  return endTurn(hub, turn, { state: "failed", fault: textOf(fault) });
}

const textOf = (fault: FaultData): string => JSON.stringify(fault);

async function endTurn(
  hub: Hub,
  turn: BenchTurn,
  end: { state: "done" | "failed"; fault: string | null },
): Promise<number> {
  const { count } = await hub.db.benchTurn.updateMany({
    where: { id: turn.id, state: { in: ["waiting", "running"] } },
    data: { ...end, endedAt: new Date(hub.now()) },
  });
  return count;
}

async function release(hub: Hub, benchmark: Benchmark): Promise<number> {
  const running = await hub.db.benchTurn.findMany({ where: { state: "running" } });
  const busy = new Set(running.map(({ nodeId }) => nodeId));
  const inBucket = new Map<string, number>();
  for (const { profileId, nodeId } of running) {
    const node = hub.live.nodes.get(nodeId);
    // A silent node moves nothing and may never return, so its turn takes no place at the bucket.
    if (node !== undefined && !isExpected(stateOf(node))) continue;
    inBucket.set(profileId, (inBucket.get(profileId) ?? 0) + 1);
  }
  const waiting = await hub.db.benchTurn.findMany({
    where: { benchmarkId: benchmark.id, state: "waiting" },
    orderBy: { position: "asc" },
  });
  let changed = 0;
  for (const turn of waiting) {
    const count = inBucket.get(turn.profileId) ?? 0;
    const node = hub.live.nodes.get(turn.nodeId);
    if (node === undefined || !isExpected(stateOf(node))) continue;
    if (busy.has(turn.nodeId) || count >= benchmark.perBucket) continue;
    busy.add(turn.nodeId);
    inBucket.set(turn.profileId, count + 1);
    await begin(hub, turn);
    changed += 1;
  }
  const isIdle = changed === 0 && running.every(({ benchmarkId }) => benchmarkId !== benchmark.id);
  return waiting.length > 0 && isIdle ? giveUpAway(hub, benchmark, waiting) : changed;
}

/** Fails the waiting turns of absent nodes when nothing else runs and `NOBODY_MS` have passed. */
async function giveUpAway(hub: Hub, benchmark: Benchmark, waiting: readonly BenchTurn[]): Promise<number> {
  const last = await hub.db.benchTurn.aggregate({ where: { benchmarkId: benchmark.id }, _max: { endedAt: true } });
  const since = Math.max(benchmark.startedAt.getTime(), last._max.endedAt?.getTime() ?? 0, hub.startedAt);
  if (hub.now() - since <= NOBODY_MS) return 0;
  let changed = 0;
  for (const turn of waiting) {
    const node = hub.live.nodes.get(turn.nodeId);
    if (node !== undefined && isExpected(stateOf(node))) continue;
    const fault = textOf(new Fault("EXPIRED", { op: "bench", subject: turn.nodeName }).toData());
    changed += await endTurn(hub, turn, { state: "failed", fault });
  }
  return changed;
}

async function begin(hub: Hub, turn: BenchTurn): Promise<void> {
  const now = hub.now();
  const at = new Date(now);
  const command: Command = { kind: "bench", id: newId(), expiresAt: now + VALID_MS, turnId: turn.id };
  await hub.db.$transaction([
    hub.db.benchTurn.update({
      where: { id: turn.id },
      data: { state: "running", commandId: command.id, startedAt: at, heardAt: at },
    }),
    hub.db.command.create({
      data: {
        id: command.id,
        requestId: turn.id,
        nodeId: turn.nodeId,
        kind: command.kind,
        transferId: "",
        body: JSON.stringify(command),
        state: "sent",
        createdAt: at,
        expiresAt: new Date(now + VALID_MS),
      },
    }),
  ]);
  countUp(hub.counters.commands, "sent");
  hub.live.send(turn.nodeId, { type: "command", command });
}
