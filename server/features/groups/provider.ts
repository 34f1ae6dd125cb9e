import type { GroupState, InstanceAction, InstanceState } from "#protocol/groups/groups.ts";

/**
 * The port behind which a provider of groups stands. Its names and texts are untrusted: an implementation bounds and parses
 * them. Every call may throw GROUP_KEY_REFUSED, GROUP_UNKNOWN, GROUP_REFUSED, GROUP_PAUSED, GROUP_UNREACHABLE,
 * ENDPOINT_REFUSED and CANCELLED.
 */

export interface ProvidedGroup {
  /** The name in requests; `id` is the one in the identities of its machines. */
  name: string;
  id: string;
  label: string;
  state: GroupState;
  /** The provider's words about the state; may be empty. */
  about: string;
  replicas: number;
  gpuClassIds: string[];
  priority: string | null;
}

export interface ProvidedInstance {
  id: string;
  machineId: string;
  state: InstanceState;
  updatedAt: number | null;
  pulledPercent: number | null;
  deletionCost: number | null;
}

export interface GpuClass {
  id: string;
  name: string;
  currency: string;
  /** Price of an hour, by priority. */
  prices: ReadonlyMap<string, number>;
}

export interface Quotas {
  replicas: { most: number; used: number } | null;
  /** Actions that the account may ask for in a minute; null: not limited. */
  perMinute: Readonly<Record<InstanceAction, number | null>>;
}

export interface InstancePlace {
  group: string;
  instanceId: string;
}

export interface GroupProvider {
  listGroups(): Promise<ProvidedGroup[]>;
  listInstances(group: string): Promise<ProvidedInstance[]>;
  readQuotas(): Promise<Quotas>;
  listGpuClasses(): Promise<GpuClass[]>;
  act(place: InstancePlace, action: InstanceAction): Promise<void>;
  setDeletionCost(place: InstancePlace, cost: number): Promise<void>;
  setReplicas(group: string, replicas: number): Promise<void>;
  start(group: string): Promise<void>;
  stop(group: string): Promise<void>;
}
