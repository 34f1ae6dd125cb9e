import * as z from "zod";
import { id, nodeName } from "../base/names.ts";
import { rowVersion } from "../base/bounded.ts";
import type { FaultData } from "../faults/fault.ts";
import type { NodeState } from "../wire/views.ts";
import { queueName } from "../jobs/job-spec.ts";
import type { ScalingAction, ScalingLimits } from "./decide-replicas.ts";
import type { InstanceStake } from "./deletion-cost.ts";

/** Inputs of the procedures about groups of instances that a provider runs, and what people see of them. */

/** Providers whose groups the hub knows. */
export const groupProvider = z.enum(["salad"]);

/** Largest number of accounts, of groups in an answer, of instances of a group, and of replicas that a rule may ask for. */
export const MOST_ACCOUNTS = 50;
export const MOST_GROUPS = 100;
export const MOST_INSTANCES = 1_000;
export const MOST_REPLICAS = 500;

/**
 * Returns the schema of a part of a path at the provider. The provider's names are lower case, but only characters that
 * would leave the path are refused.
 */
const pathName = (what: string) =>
  z
    .string()
    .trim()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, `${what} has 1 to 64 letters, digits, '.', '_' or '-'`);
/** Id of an instance: the provider's own, in the path of requests. */
export const instanceId = pathName("the id of an instance");
export const groupName = pathName("the name of a group");

export const accountDraft = z.object({
  name: nodeName,
  provider: groupProvider.default("salad"),
  organization: pathName("an organization's name"),
  project: pathName("a project's name"),
});
export type AccountDraft = z.infer<typeof accountDraft>;
/** Characters that an HTTP header may have. */
export const accountKey = z
  .string()
  .trim()
  .regex(/^[\x21-\x7e]{8,512}$/, "a key has 8 to 512 visible ASCII characters, without spaces");

export const createAccountInput = z.object({ account: accountDraft, key: accountKey });
/** `key: null` keeps the stored key. */
export const updateAccountInput = z.object({
  id,
  version: rowVersion,
  account: accountDraft,
  key: accountKey.nullable(),
});

export interface AccountView {
  id: string;
  version: number;
  account: AccountDraft;
  /** The fault of the last request; null when it was answered. */
  lastFault: FaultData | null;
  /** Epoch ms of the last answer. */
  seenAt: number | null;
  /** The provider asked for a pause that ends then, epoch ms; null: none. */
  pausedUntil: number | null;
}

export interface AccountTest {
  ok: boolean;
  /** One sentence: what was seen. Empty with a fault. */
  says: string;
  fault: FaultData | null;
}

export const listGroupsInput = z.object({ accountId: id });

export const INSTANCE_STATES = ["allocating", "downloading", "creating", "running", "stopping", "unknown"] as const;
export type InstanceState = (typeof INSTANCE_STATES)[number];
export const GROUP_STATES = ["pending", "running", "stopped", "succeeded", "failed", "deploying", "unknown"] as const;
export type GroupState = (typeof GROUP_STATES)[number];

export interface InstanceNode {
  id: string;
  name: string;
  state: NodeState;
}

export interface InstanceView {
  id: string;
  machineId: string;
  state: InstanceState;
  /** Epoch ms; null when the provider does not say. */
  updatedAt: number | null;
  /** 0 to 100 while the image is fetched. */
  pulledPercent: number | null;
  deletionCost: number | null;
  /** The nodes of this hub on its machine; a started one has at least one. */
  nodes: InstanceNode[];
  stake: InstanceStake;
}

export interface GroupPrice {
  perHour: number;
  currency: string;
}

export interface RuleView {
  id: string;
  queue: string;
  limits: ScalingLimits;
  isEnabled: boolean;
  /** Epoch ms; null before the first decision. */
  decidedAt: number | null;
  action: ScalingAction | null;
  reason: string | null;
  /** The fault that kept the last decision from being taken or carried out. */
  fault: FaultData | null;
  /** The provider does not know the group any more since then. */
  goneAt: number | null;
}

export interface GroupView {
  name: string;
  label: string;
  state: GroupState;
  /** The provider's words about its state; may be empty. */
  about: string;
  replicas: number;
  gpus: string[];
  /** Price of one instance: that of its dearest GPU class. Null when it is not known. */
  price: GroupPrice | null;
  /** False: the provider lists no group of this name any more, and only the rule is left. */
  isKnown: boolean;
  instances: InstanceView[];
  /** Why the instances could not be listed. */
  fault: FaultData | null;
  rule: RuleView | null;
}

export interface GroupsAnswer {
  groups: GroupView[];
  fault: FaultData | null;
}

/** Actions on an instance. `reallocate`: another machine; `recreate`: a new container; `restart`: the same container again. */
export const INSTANCE_ACTIONS = ["reallocate", "recreate", "restart"] as const;
export const instanceAction = z.enum(INSTANCE_ACTIONS);
export type InstanceAction = z.infer<typeof instanceAction>;

export const actInput = z.object({
  accountId: id,
  group: groupName,
  /** Null: all of the group. */
  instanceIds: z.array(instanceId).min(1).max(MOST_INSTANCES).nullable(),
  action: instanceAction,
  /** Tells what would be done and lost, and does nothing. */
  dryRun: z.boolean().default(false),
  /** Instances whose work may be lost: a person has read what it is. */
  mayLose: z.array(instanceId).max(MOST_INSTANCES).default([]),
});

export interface InstanceLoss {
  instanceId: string;
  machineId: string;
  nodes: InstanceNode[];
  stake: InstanceStake;
}

export interface ActAnswer {
  /** Instances that were chosen. */
  found: number;
  /** Those that the provider was told of; 0 with `dryRun`, and when it was refused. */
  done: number;
  /** Chosen ones that are left for later: the quota of the minute was used, or they would take too long. */
  left: number;
  /** Losses with the instances. Instances that are not in `mayLose` are `isRefused`'s reason. */
  losses: InstanceLoss[];
  /** Nothing was done, because work would be lost that nobody has confirmed. */
  isRefused: boolean;
  /** Faults of the instances for which it failed, in the order of the tries. */
  faults: { instanceId: string; fault: FaultData }[];
}

const DAY_MS = 86_400_000;
const replicas = z.number().int().min(0).max(MOST_REPLICAS);
export const scalingLimits = z
  .object({
    min: replicas,
    max: replicas,
    idleMs: z.number().int().min(0).max(DAY_MS),
    cooldownMs: z.number().int().min(0).max(DAY_MS),
  })
  .refine(({ min, max }) => min <= max, { path: ["max"], message: "the most is at least the least" });

export const setRuleInput = z.object({
  accountId: id,
  group: groupName,
  queue: queueName,
  limits: scalingLimits,
  isEnabled: z.boolean().default(true),
});
export const removeRuleInput = z.object({ accountId: id, group: groupName });
