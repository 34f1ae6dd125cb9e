import { Fault } from "#protocol/fault.ts";
import { parseDataKey, parseProbeKey, type DataKey } from "#protocol/keys.ts";
import type { Operation, SignedRequest } from "#protocol/operations.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import type { KeyUse } from "../events/key-uses.ts";
import { adoptedAround } from "../adopt/adopted-around.ts";
import type { Hub } from "../hub.ts";
import type { LiveNode } from "../live/live-node.ts";
import { liveNodeOf } from "../nodes/live-node-of.ts";
import type { Context, NodeCaller } from "../trpc.ts";
import { mayRead } from "./assigned.ts";
import { namedKeys } from "./named-keys.ts";
import { requireWriter } from "./require-writer.ts";

/**
 * The fence. A node gets signatures for what it writes under an attempt it announced, while it is the writer and the
 * checkpoint is not complete; for taking back what it had not completed there; and for reading exactly the objects that the manifest of a checkpoint assigned to it names.
 * What another tool left in the bucket is only ever read.
 * Below its own probe keys, where nothing is ever kept, it may do all that measuring a link needs, and only there delete.
 * Manifests and claims lie under keys that no operation of a node can even name. One refused operation refuses the batch.
 */

const refuse = (operation: Operation, detail: string): Fault =>
  new Fault("NOT_THIS_NODES", { op: `sign ${operation.op}`, subject: operation.key, detail });

const NOT_ANNOUNCED = "no such attempt was announced";

interface Batch {
  hub: Hub;
  node: LiveNode;
  /** By run and attempt: a batch is about few of them. */
  checkpoints: Map<string, Checkpoint | null>;
  /** Checkpoints of this batch that the node turned out to be allowed to write, or to read: the keys it may read. */
  writable: Set<string>;
  readable: Map<string, ReadonlySet<string>>;
}

async function checkpointAt(batch: Batch, at: DataKey): Promise<Checkpoint | null> {
  const cacheKey = `${at.run}/${at.attempt}`;
  const known = batch.checkpoints.get(cacheKey);
  if (known !== undefined) return known;
  const where = { run_attempt: { run: at.run, attempt: at.attempt } };
  const found = await batch.hub.db.checkpoint.findUnique({ where });
  batch.checkpoints.set(cacheKey, found);
  return found;
}

async function allowWrite(batch: Batch, operation: Operation, checkpoint: Checkpoint): Promise<void> {
  if (batch.writable.has(checkpoint.id)) return;
  if (checkpoint.nodeId !== batch.node.id) throw refuse(operation, "another node announced this attempt");
  if (checkpoint.state === "complete" || checkpoint.state === "trashed") {
    throw refuse(operation, "the checkpoint is complete and never changes again");
  }
  await requireWriter(batch.hub.db, {
    run: checkpoint.run,
    epoch: checkpoint.writerEpoch,
    nodeId: batch.node.id,
  });
  batch.writable.add(checkpoint.id);
}

async function readableKeys(batch: Batch, checkpoint: Checkpoint): Promise<ReadonlySet<string>> {
  const known = batch.readable.get(checkpoint.id);
  if (known !== undefined) return known;
  const isAllowed = checkpoint.state === "complete" && (await mayRead(batch.hub.db, batch.node, checkpoint));
  const keys = isAllowed ? await namedKeys(batch.hub, checkpoint) : new Set<string>();
  batch.readable.set(checkpoint.id, keys);
  return keys;
}

/**
 * Taking back the parts of an upload that was not completed changes no object, so whoever announced an attempt may do it
 * whatever became of the attempt, its checkpoint and its run.
 */
async function allowAbort(batch: Batch, operation: Operation, at: DataKey): Promise<void> {
  const where = { run_attempt: { run: at.run, attempt: at.attempt } };
  const announced = await batch.hub.db.attempt.findUnique({ where });
  if (announced === null || announced.writerEpoch !== at.epoch) throw refuse(operation, NOT_ANNOUNCED);
  if (announced.nodeId !== batch.node.id) throw refuse(operation, "another node announced this attempt");
}

/** Null for a read of what may be another tool's. Faults: NOT_THIS_NODES for everything else that is no data key. */
function dataKeyAt(prefix: string, operation: Operation): DataKey | null {
  try {
    return parseDataKey(prefix, operation.key);
  } catch (error) {
    if (operation.op === "get" || operation.op === "head") return null;
    throw error;
  }
}

/** A key of another tool is read, and never more, where an adopted checkpoint that is assigned to the node names it. */
async function allowForeign(batch: Batch, operation: Operation): Promise<void> {
  const profileId = batch.node.profileId ?? "";
  for (const checkpoint of await adoptedAround(batch.hub, { profileId, key: operation.key })) {
    if ((await readableKeys(batch, checkpoint)).has(operation.key)) return;
  }
  throw refuse(operation, "no checkpoint that is assigned to the node names it");
}

async function allow(batch: Batch, operation: Operation, prefix: string): Promise<void> {
  if (operation.op === "share") throw refuse(operation, "links are for people");
  const probe = parseProbeKey(prefix, operation.key);
  if (probe !== null) {
    if (probe.nodeId !== batch.node.id) throw refuse(operation, "another node measures its link there");
    return;
  }
  const at = dataKeyAt(prefix, operation);
  if (at === null) return allowForeign(batch, operation);
  if (operation.op === "abort") return allowAbort(batch, operation, at);
  const checkpoint = await checkpointAt(batch, at);
  if (checkpoint === null || checkpoint.writerEpoch !== at.epoch || checkpoint.profileId !== batch.node.profileId) {
    throw refuse(operation, NOT_ANNOUNCED);
  }
  switch (operation.op) {
    case "delete":
      throw refuse(operation, "a node deletes nothing but what it made to measure its link");
    case "create":
    case "part":
    case "put":
    case "parts":
    case "complete":
      return allowWrite(batch, operation, checkpoint);
    case "get":
    case "head": {
      // A writer looks at what it has just completed.
      const isOwn = operation.op === "head" && checkpoint.nodeId === batch.node.id && checkpoint.state !== "complete";
      if (isOwn) return allowWrite(batch, operation, checkpoint);
      if (!(await readableKeys(batch, checkpoint)).has(operation.key)) {
        throw refuse(operation, "this checkpoint is not assigned to the node");
      }
    }
  }
}

const READS: ReadonlySet<Operation["op"]> = new Set(["get", "head", "parts"]);

/** What the key is used for, and how often. */
const usesOf = (operations: readonly Operation[]): [KeyUse, number][] => {
  const reads = operations.filter(({ op }) => READS.has(op)).length;
  const deletes = operations.filter(({ op }) => op === "delete").length;
  return [
    ["sign reads", reads],
    ["sign deletes", deletes],
    ["sign writes", operations.length - reads - deletes],
  ];
};

/** @throws Fault NODE_REVOKED, NOT_THIS_NODES, EPOCH_OVER */
export async function sign(
  { hub, caller }: Context & { caller: NodeCaller },
  input: { operations: Operation[] },
): Promise<{ requests: SignedRequest[] }> {
  const node = liveNodeOf(hub, caller.nodeId);
  const store = await hub.stores.open(node.profileId);
  const batch: Batch = { hub, node, checkpoints: new Map(), writable: new Set(), readable: new Map() };
  for (const operation of input.operations) await allow(batch, operation, store.prefix);
  for (const [action, times] of usesOf(input.operations)) {
    await hub.keyUses.note({ caller, profileId: store.profileId, profileName: store.profileName, action, times });
  }
  const requests = await store.signForNode(input.operations);
  hub.counters.signatures += requests.length;
  return { requests };
}
