import { Fault } from "#protocol/faults/fault.ts";
import { parseDataKey, parseProbeKey, type DataKey } from "#protocol/checkpoint/keys.ts";
import type { Operation, SignedRequest } from "#protocol/wire/operations.ts";
import type { Checkpoint, CheckpointCopy } from "#prisma/client/client.ts";
import type { KeyUse } from "../api/key-uses.ts";
import { adoptedAround } from "./external/adopted-around.ts";
import { requireHome, WITHOUT_MANIFEST } from "../profiles/homes-of.ts";
import type { Hub } from "../api/hub.ts";
import type { LiveNode } from "../live/live-node.ts";
import { liveNodeOf } from "../nodes/live-node-of.ts";
import type { Context } from "../api/trpc.ts";
import { mayRead } from "../runs/assigned.ts";
import { namedKeys } from "./manifest/named-keys.ts";
import { requireStillPlain } from "./check-sealed.ts";
import { requireSender } from "../runs/require-writer.ts";
import type { NodeCaller } from "../api/caller.ts";

/**
 * Decides which requests of a node the hub signs. Writes: only below an attempt that the node announced, while it is the
 * writer and the checkpoint is not complete. Aborts: only of uploads below its own attempts. Reads: exactly the objects that
 * the manifest of a checkpoint assigned to it names; files of another tool are only ever read. In another home of a run than
 * its own profile the same holds for the checkpoints and copies of that run, and nothing else. Below its own probe keys,
 * where nothing is kept, a node may do everything that measuring a link needs, and only there delete. Manifests and claims
 * have keys that no operation of a node can name. One refused operation refuses the batch.
 */

const refuse = (operation: Operation, detail: string): Fault =>
  new Fault("NOT_THIS_NODES", { op: `sign ${operation.op}`, subject: operation.key, detail });

const NOT_ANNOUNCED = "no such attempt was announced";

interface Batch {
  hub: Hub;
  node: LiveNode;
  /** The bucket profile of the whole batch. */
  profileId: string;
  /** Results by run and attempt: a batch is about few of them. */
  checkpoints: Map<string, Found | null>;
  /** Checkpoints that this batch found the node may write, and the keys of those it may read. */
  writable: Set<string>;
  readable: Map<string, ReadonlySet<string>>;
}

/** The checkpoint of an attempt, or the copy of one. */
interface Found {
  checkpoint: Checkpoint;
  copy: Omit<CheckpointCopy, "manifest"> | null;
}

const placeOf = ({ checkpoint, copy }: Found): { profileId: string; id: string } =>
  copy === null ? checkpoint : { profileId: copy.profileId, id: `${checkpoint.id} in ${copy.profileId}` };

async function findAttempt({ hub }: Batch, at: DataKey): Promise<Found | null> {
  const where = { run_attempt: { run: at.run, attempt: at.attempt } };
  const checkpoint = await hub.db.checkpoint.findUnique({ where });
  // The joined checkpoint names the objects of its pieces.
  const whole =
    checkpoint?.joinedId == null ? null : await hub.db.checkpoint.findUnique({ where: { id: checkpoint.joinedId } });
  if (checkpoint !== null) return { checkpoint: whole ?? checkpoint, copy: null };
  const row = await hub.db.checkpointCopy.findUnique({ where, omit: WITHOUT_MANIFEST, include: { checkpoint: true } });
  return row === null ? null : { checkpoint: row.checkpoint, copy: row };
}

async function checkpointAt(batch: Batch, at: DataKey): Promise<Found | null> {
  const cacheKey = `${at.run}/${at.attempt}`;
  const known = batch.checkpoints.get(cacheKey);
  if (known !== undefined) return known;
  const found = await findAttempt(batch, at);
  batch.checkpoints.set(cacheKey, found);
  return found;
}

const ADDS_BYTES: ReadonlySet<Operation["op"]> = new Set(["create", "part", "put", "complete"]);

async function allowWrite(batch: Batch, operation: Operation, found: Found): Promise<void> {
  const { checkpoint, copy } = found;
  const { id } = placeOf(found);
  if (batch.writable.has(id)) return;
  if (copy !== null) {
    // The checkpoint is safe already, so even a replaced writer may copy what it wrote.
    if (copy.nodeId !== batch.node.id) throw refuse(operation, "another node copies it there");
    if (copy.state !== "copying" || checkpoint.state !== "complete")
      throw refuse(operation, `the copy is ${copy.state}`);
    batch.writable.add(id);
    return;
  }
  if (checkpoint.nodeId !== batch.node.id) throw refuse(operation, "another node announced this attempt");
  if (checkpoint.state === "complete" || checkpoint.state === "trashed") {
    throw refuse(operation, "the checkpoint is complete and never changes again");
  }
  await requireSender(batch.hub.db, {
    run: checkpoint.run,
    epoch: checkpoint.writerEpoch,
    nodeId: batch.node.id,
  });
  if (ADDS_BYTES.has(operation.op)) await requireStillPlain(batch.hub, checkpoint);
  batch.writable.add(id);
}

async function readableKeys(batch: Batch, found: Found): Promise<ReadonlySet<string>> {
  const { checkpoint, copy } = found;
  const { id } = placeOf(found);
  const known = batch.readable.get(id);
  if (known !== undefined) return known;
  const isThere = checkpoint.state === "complete" && (copy === null || copy.state === "complete");
  const isAllowed = isThere && (await mayRead(batch.hub.db, batch.node, checkpoint));
  const keys = isAllowed ? await namedKeys(batch.hub, { checkpoint, copy }) : new Set<string>();
  batch.readable.set(id, keys);
  return keys;
}

/**
 * Allows an abort to the node that announced the attempt, whatever its state. Aborting an upload that was not completed
 * changes no object.
 */
async function allowAbort(batch: Batch, operation: Operation, at: DataKey): Promise<void> {
  const where = { run_attempt: { run: at.run, attempt: at.attempt } };
  const announced = await batch.hub.db.attempt.findUnique({ where });
  if (announced === null || announced.writerEpoch !== at.epoch) throw refuse(operation, NOT_ANNOUNCED);
  if (announced.nodeId !== batch.node.id) throw refuse(operation, "another node announced this attempt");
  if (batch.profileId !== batch.node.profileId) {
    await requireHome(batch.hub.db, { run: at.run, profileId: batch.profileId, op: `sign ${operation.op}` });
  }
}

/**
 * Returns the parsed data key; null for a read of a key that may belong to another tool. Faults: NOT_THIS_NODES for any other
 * key.
 */
function dataKeyAt(prefix: string, operation: Operation): DataKey | null {
  try {
    return parseDataKey(prefix, operation.key);
  } catch (error) {
    if (operation.op === "get" || operation.op === "head") return null;
    throw error;
  }
}

/** Allows reading an object of another tool if an external checkpoint assigned to the node names it. */
async function allowForeign(batch: Batch, operation: Operation): Promise<void> {
  const { profileId } = batch;
  for (const checkpoint of await adoptedAround(batch.hub, { profileId, key: operation.key })) {
    if ((await readableKeys(batch, { checkpoint, copy: null })).has(operation.key)) return;
  }
  throw refuse(operation, "no checkpoint that is assigned to the node names it");
}

async function allow(batch: Batch, operation: Operation, prefix: string): Promise<void> {
  if (operation.op === "share") throw refuse(operation, "links are for people");
  const probe = parseProbeKey(prefix, operation.key);
  if (probe !== null) {
    if (probe.nodeId !== batch.node.id) throw refuse(operation, "another node measures its link there");
    if (batch.profileId !== batch.node.profileId) throw refuse(operation, "a node measures its link to its own bucket");
    return;
  }
  const at = dataKeyAt(prefix, operation);
  if (at === null) return allowForeign(batch, operation);
  if (operation.op === "abort") return allowAbort(batch, operation, at);
  const found = await checkpointAt(batch, at);
  if (found === null || found.checkpoint.writerEpoch !== at.epoch || placeOf(found).profileId !== batch.profileId) {
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
      return allowWrite(batch, operation, found);
    case "get":
    case "head": {
      // A writer checks an object that it has just completed.
      const { nodeId, state } = found.copy ?? found.checkpoint;
      const isOwn = operation.op === "head" && nodeId === batch.node.id && state !== "complete";
      if (isOwn) return allowWrite(batch, operation, found);
      if (!(await readableKeys(batch, found)).has(operation.key)) {
        throw refuse(operation, "this checkpoint is not assigned to the node");
      }
    }
  }
}

const READS: ReadonlySet<Operation["op"]> = new Set(["get", "head", "parts"]);

/** Returns how often each use of the key occurs. */
const usesOf = (operations: readonly Operation[]): [KeyUse, number][] => {
  const reads = operations.filter(({ op }) => READS.has(op)).length;
  const deletes = operations.filter(({ op }) => op === "delete").length;
  return [
    ["sign reads", reads],
    ["sign deletes", deletes],
    ["sign writes", operations.length - reads - deletes],
  ];
};

/**
 * Signs requests for a node. `profileId` is the bucket; default: that of the node's own profile. @throws Fault NODE_REVOKED,
 * NOT_THIS_NODES, EPOCH_OVER, SEAL_REQUIRED
 */
export async function sign(
  { hub, caller }: Context & { caller: NodeCaller },
  input: { operations: Operation[]; profileId?: string | undefined },
): Promise<{ requests: SignedRequest[] }> {
  const node = liveNodeOf(hub, caller.nodeId);
  const profileId = input.profileId ?? node.profileId;
  const store = await hub.stores.open(profileId);
  const batch: Batch = { hub, node, profileId, checkpoints: new Map(), writable: new Set(), readable: new Map() };
  for (const operation of input.operations) await allow(batch, operation, store.prefix);
  for (const [action, times] of usesOf(input.operations)) {
    await hub.keyUses.note({ caller, profileId: store.profileId, profileName: store.profileName, action, times });
  }
  const requests = await store.signForNode(input.operations);
  hub.counters.signatures += requests.length;
  return { requests };
}
