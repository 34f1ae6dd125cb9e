import type * as z from "zod";
import type {
  benchTargetInput,
  BenchTarget,
  endOwnBenchInput,
  startOwnBenchInput,
} from "#protocol/benchmarks/own-bench.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { EVERYWHERE } from "#protocol/base/scope.ts";
import { audit } from "#server/core/api/audit.ts";
import { writableBy } from "#server/core/runs/writable-by.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { liveNodeOf } from "#server/core/nodes/live-node-of.ts";
import { requireEngines, type KeyedProfile } from "./plan.ts";
import { requireTurn, type NodeContext } from "./take-turn.ts";
import { writeDown } from "./write-down.ts";

/**
 * Benchmarks of one turn that a node requests itself, for a person at its command line. They are kept, shown and cleaned up
 * like all others. Limits: a node measures only the buckets that it writes to, has one turn at a time, and is lent only the
 * benchmark key of that bucket. It does not learn which other buckets exist.
 */

/** Most benchmarks that a node may request a day: enough for a person, too few for a compromised machine to fill the database. */
const MOST_A_DAY = 100;
const DAY_MS = 86_400_000;

/**
 * Finds a profile by id, else by name, among those that the node writes to.
 * @throws Fault PROFILE_NOT_THIS_NODES, NODE_UNKNOWN, NODE_REVOKED
 */
async function findTarget({ hub, caller }: NodeContext, named: string): Promise<KeyedProfile> {
  const ids = await writableBy(hub.db, liveNodeOf(hub, caller.nodeId));
  const rows = await hub.db.profile.findMany({ where: { id: { in: ids } }, include: { benchKey: true } });
  const profile = rows.find(({ id }) => id === named) ?? rows.find(({ name }) => name === named);
  if (profile !== undefined) return profile;
  const names = ids.flatMap((id) => rows.filter((row) => row.id === id).map(({ name }) => name));
  const detail = names.length === 0 ? "it has none" : `it writes to ${names.join(", ")}`;
  throw new Fault("PROFILE_NOT_THIS_NODES", { op: "bench", subject: named, detail });
}

/** Returns where a node may compare engines, and which key is lent there. @throws Fault PROFILE_NOT_THIS_NODES */
export async function benchTarget(
  context: NodeContext,
  { profile }: z.infer<typeof benchTargetInput>,
): Promise<BenchTarget> {
  const { id, name, bucket, benchKey } = await findTarget(context, profile);
  const lends = benchKey === null ? "nothing" : benchKey.hasGrant ? "key-and-grant" : "key";
  return { profileId: id, profileName: name, bucket, lends };
}

/**
 * Starts a benchmark whose turn runs at once. A repeated request returns the same turn.
 * @throws Fault PROFILE_NOT_THIS_NODES, BENCH_RUNNING, TOO_MANY_TRIES, BAD_INPUT when no engine could run, NOT_THIS_NODES
 */
export async function benchStart(
  context: NodeContext,
  input: z.infer<typeof startOwnBenchInput>,
): Promise<{ turnId: string }> {
  const { hub, caller } = context;
  const { id, profileId, settings, seed } = input;
  const node = liveNodeOf(hub, caller.nodeId);
  return hub.locks.run("benchmarks", async () => {
    const known = await turnOf(hub, id);
    if (known !== null) {
      if (known.nodeId !== node.id) throw new Fault("NOT_THIS_NODES", { op: "bench", subject: id });
      return { turnId: known.id };
    }
    const profile = await findTarget(context, profileId);
    requireEngines(settings, [profile]);
    const running = await hub.db.benchTurn.findFirst({
      where: { nodeId: node.id, state: "running" },
      include: { benchmark: { select: { name: true } } },
    });
    if (running !== null) throw new Fault("BENCH_RUNNING", { op: "bench", subject: running.benchmark.name });
    const since = new Date(hub.now() - DAY_MS);
    const own = { nodeId: node.id, commandId: null, startedAt: { gte: since } };
    if ((await hub.db.benchTurn.count({ where: own })) >= MOST_A_DAY) {
      throw new Fault("TOO_MANY_TRIES", {
        op: "bench",
        detail: `a node begins ${MOST_A_DAY} benchmarks a day at most`,
      });
    }
    const name = `${node.name} to ${profile.name}`.slice(0, 128);
    const targets = { scope: { ...EVERYWHERE, nodes: node.name }, sample: null, profileIds: [profile.id] };
    const request = { id, name, targets, settings, perBucket: 1, seed };
    const actor = `${node.name} (command line)`;
    await writeDown(hub, { request, actor, links: [{ node, profile }], begins: "now" });
    await audit(hub, caller, { action: "start benchmark", subject: name, subjectId: id });
    hub.live.markStale(["benchmarks"]);
    const turn = await turnOf(hub, id);
    if (turn === null) throw new Fault("INTERNAL", { detail: "a benchmark was kept without its turn" });
    return { turnId: turn.id };
  });
}

const turnOf = (hub: Hub, benchmarkId: string) => hub.db.benchTurn.findFirst({ where: { benchmarkId } });

/**
 * Ends a turn that the node requested itself. The hub then empties its folder in the bucket.
 * @throws Fault NOT_THIS_NODES, CANCELLED
 */
export async function benchEnd(context: NodeContext, input: z.infer<typeof endOwnBenchInput>): Promise<{ ok: true }> {
  const { hub } = context;
  const { turnId, outcome, fault } = input;
  await hub.locks.run("benchmarks", async () => {
    const { id, benchmarkId, commandId } = await requireTurn(context, turnId);
    if (commandId !== null) {
      const detail = "a turn that the hub gave ends with its command";
      throw new Fault("NOT_THIS_NODES", { op: "bench", subject: turnId, detail });
    }
    const endedAt = new Date(hub.now());
    await hub.db.$transaction([
      hub.db.benchTurn.update({
        where: { id },
        data: { state: outcome, fault: fault === null ? null : JSON.stringify(fault), endedAt },
      }),
      hub.db.benchmark.update({
        where: { id: benchmarkId },
        data: { state: outcome === "cancelled" ? "cancelled" : "done", endedAt },
      }),
    ]);
  });
  hub.live.markStale(["benchmarks"]);
  return { ok: true };
}
