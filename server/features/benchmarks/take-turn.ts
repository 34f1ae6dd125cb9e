import type * as z from "zod";
import { engineSpec } from "#protocol/benchmarks/engines.ts";
import { planCases } from "#protocol/benchmarks/plan-cases.ts";
import { benchSettings } from "#protocol/benchmarks/plan-input.ts";
import type { benchBeginInput, benchCaseInput, BenchJob } from "#protocol/benchmarks/turn.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { benchFolder } from "#protocol/checkpoint/keys.ts";
import type { Operation, SignedRequest } from "#protocol/wire/operations.ts";
import { lifetimeFor } from "#storage/signing/temporary-key.ts";
import type { BenchTurn, Profile } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { liveNodeOf } from "#server/core/nodes/live-node-of.ts";
import { foundOf } from "#server/core/profiles/found-of.ts";
import { accessOf, draftOf } from "#server/core/profiles/open-store.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { openBenchKey, type BenchKey } from "./bench-key.ts";
import { makeTemporaryKey } from "./make-temporary-key.ts";
import { enginesFor } from "./plan.ts";
import type { NodeCaller } from "#server/core/api/caller.ts";

/**
 * Serves a node during its turn. Every call checks that the turn belongs to this node and is running, and that every key lies
 * in the turn's own folder. After the end of a turn nothing more is signed or accepted for it.
 */

export type NodeContext = Context & { caller: NodeCaller };

/** Returns the turn of a calling node. @throws Fault NOT_THIS_NODES, CANCELLED when the turn has ended */
export async function requireTurn({ hub, caller }: NodeContext, turnId: string): Promise<BenchTurn> {
  const node = liveNodeOf(hub, caller.nodeId);
  const turn = await hub.db.benchTurn.findUnique({ where: { id: turnId } });
  if (turn === null || turn.nodeId !== node.id) throw new Fault("NOT_THIS_NODES", { op: "bench", subject: turnId });
  if (turn.state !== "running") throw new Fault("CANCELLED", { op: "bench", detail: `the turn is ${turn.state}` });
  return turn;
}

/**
 * Returns the cases that are left, the access to the bucket, and the lent key.
 * @throws Fault NOT_THIS_NODES, CANCELLED, NOT_FOUND when the bucket profile is gone, those of the service that makes temporary
 * keys
 */
export async function benchTurn(context: NodeContext, { turnId }: { turnId: string }): Promise<BenchJob> {
  const { hub, caller } = context;
  const turn = await requireTurn(context, turnId);
  const { settings: text, seed } = await hub.db.benchmark.findUniqueOrThrow({ where: { id: turn.benchmarkId } });
  const settings = benchSettings.parse(JSON.parse(text));
  const profile = await hub.db.profile.findUnique({ where: { id: turn.profileId } });
  if (profile === null) throw new Fault("NOT_FOUND", { subject: turn.profileName });
  const key = await openBenchKey(hub, turn.profileId);
  const told = await hub.db.benchCase.findMany({
    where: { turnId },
    select: { engine: true, direction: true, round: true },
  });
  const names = new Set(told.map(({ engine, direction, round }) => `${engine} ${direction} ${round}`));
  const engines = enginesFor(settings, key === null ? null : { hasGrant: key.grant !== null });
  const { directions, rounds } = settings;
  const planned = planCases({ engines, directions, rounds, seed: (Number(seed) + turn.position) >>> 0 });
  const cases = planned.filter(({ engine, direction, round }) => !names.has(`${engine} ${direction} ${round}`));
  const folder = benchFolder(turn.prefix, turn.id);
  // An engine that uses presigned URLs needs no key.
  const isLent = key !== null && cases.some(({ engine }) => engineSpec(engine).needsKeys);
  if (isLent) {
    const { profileId, profileName } = turn;
    await hub.keyUses.note({ caller, profileId, profileName, action: "lend benchmark key", times: 1 });
  }
  const lifetimeMs = cases.length * settings.timeLimitMs + BETWEEN_MS;
  return {
    turnId,
    access: accessOf(draftOf(profile), { side: "worker", found: foundOf(profile) }),
    folder,
    settings,
    cases,
    ...(isLent ? await lendKey(hub, profile, { key: key.key, folder, lifetimeMs }) : NO_KEY),
    grant: isLent ? key.grant : null,
    hubTimeMs: hub.now(),
  };
}

type Lent = Pick<BenchJob, "credential" | "credentialEndsAt">;
const NO_KEY: Lent = { credential: null, credentialEndsAt: null };
/** Time that a turn needs besides its cases. */
const BETWEEN_MS = 600_000;

/** Returns the key for the engines that need one. @throws Fault those of the service that makes temporary keys */
async function lendKey(
  hub: Hub,
  profile: Profile,
  about: { key: BenchKey["key"]; folder: string; lifetimeMs: number },
): Promise<Lent> {
  const { key, folder, lifetimeMs } = about;
  if (key.kind === "given") {
    const { accessKeyId, secretAccessKey } = key;
    return { credential: { accessKeyId, secretAccessKey }, credentialEndsAt: null };
  }
  const { way } = key;
  const credentialEndsAt = hub.now() + lifetimeFor({ way, lifetimeMs });
  // The hub's clock decides when the key ends, not the clock of the service.
  const { endsAt: _, ...credential } = await makeTemporaryKey(hub, profile, { way, folder, lifetimeMs });
  return { credential, credentialEndsAt };
}

const heard = (hub: Hub) => ({ heardAt: new Date(hub.now()) });

/** Records the round trip and the engines that the node found before its first case. @throws Fault NOT_THIS_NODES, CANCELLED */
export async function benchBegin(context: NodeContext, input: z.infer<typeof benchBeginInput>): Promise<{ ok: true }> {
  const { hub } = context;
  const { id } = await requireTurn(context, input.turnId);
  const { rttMs, engines } = input;
  const { nodeId } = context.caller;
  await hub.db.$transaction([
    hub.db.benchTurn.update({ where: { id }, data: { rttMs, engines: JSON.stringify(engines), ...heard(hub) } }),
    // Advice needs this row: it names nodes by its number.
    hub.db.historyNode.upsert({ where: { nodeId }, create: { nodeId }, update: {} }),
  ]);
  hub.live.markStale(["benchmarks"]);
  return { ok: true };
}

/** Records the end of one case; a repeated report changes nothing. @throws Fault NOT_THIS_NODES, CANCELLED */
export async function benchCase(context: NodeContext, input: z.infer<typeof benchCaseInput>): Promise<{ ok: true }> {
  const { hub } = context;
  const { id: turnId } = await requireTurn(context, input.turnId);
  const { bytes, peakBytes, fault, engine, direction, round, ...rest } = input.end;
  const at = new Date(hub.now());
  const which = { turnId, engine, direction, round };
  const data = {
    ...rest,
    bytes: BigInt(bytes),
    peakBytes: peakBytes === null ? null : BigInt(peakBytes),
    fault: fault === null ? null : JSON.stringify(fault),
    at,
  };
  await hub.db.$transaction([
    hub.db.benchCase.upsert({
      where: { turnId_engine_direction_round: which },
      create: { ...which, ...data },
      update: {},
    }),
    hub.db.benchTurn.update({ where: { id: turnId }, data: heard(hub) }),
  ]);
  hub.live.markStale(["benchmarks"]);
  return { ok: true };
}

/** Signs the operations of a turn below its own folder. @throws Fault NOT_THIS_NODES, CANCELLED */
export async function benchSign(
  context: NodeContext,
  { turnId, operations }: { turnId: string; operations: Operation[] },
): Promise<{ requests: SignedRequest[] }> {
  const { hub, caller } = context;
  const turn = await requireTurn(context, turnId);
  const folder = benchFolder(turn.prefix, turn.id);
  for (const { op, key } of operations) {
    if (op === "share" || !key.startsWith(folder)) {
      throw new Fault("NOT_THIS_NODES", { op: `sign ${op}`, subject: key, detail: "it lies outside this turn" });
    }
  }
  const store = await hub.stores.open(turn.profileId);
  const { profileId, profileName } = store;
  await hub.keyUses.note({ caller, profileId, profileName, action: "sign writes", times: operations.length });
  const requests = await store.signForNode(operations);
  hub.counters.signatures += requests.length;
  return { requests };
}
