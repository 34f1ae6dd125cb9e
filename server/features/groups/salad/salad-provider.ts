import * as z from "zod";
import {
  GROUP_STATES,
  groupName,
  INSTANCE_STATES,
  instanceId,
  MOST_GROUPS,
  MOST_INSTANCES,
} from "#protocol/groups/groups.ts";
import { MOST_DELETION_COST } from "#protocol/groups/deletion-cost.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { GroupProvider } from "../provider.ts";
import { askSalad, type SaladAccess, type SaladRequest } from "./ask-salad.ts";

/** Container groups of SaladCloud as the port of providers (https://docs.salad.com/reference/saladcloud-api). */

/** Prices of the API have no currency; the platform bills in this one. */
const CURRENCY = "USD";

/** Returns the schema of a text that is only displayed. */
const shown = (most: number) =>
  z
    .string()
    .catch("")
    .transform((text) => text.slice(0, most));
const token = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);
const share = z.number().min(0).max(100).nullable().catch(null);

const group = z
  .object({
    id: token,
    name: groupName,
    display_name: shown(128).optional(),
    replicas: z.number().int().min(0).max(100_000),
    priority: token.nullish().catch(null),
    container: z
      .object({
        priority: token.nullish().catch(null),
        resources: z.object({ gpu_classes: z.array(token).max(100).nullish().catch(null) }).optional(),
      })
      .optional(),
    current_state: z.object({ status: z.enum(GROUP_STATES).catch("unknown"), description: shown(500).optional() }),
  })
  .transform(({ id, name, display_name: label, replicas, priority, container, current_state: state }) => ({
    id,
    name,
    label: label === undefined || label === "" ? name : label,
    replicas,
    state: state.status,
    about: state.description ?? "",
    gpuClassIds: container?.resources?.gpu_classes ?? [],
    priority: container?.priority ?? priority ?? null,
  }));
const groups = z.object({ items: z.array(group).max(MOST_GROUPS) });

const instance = z
  .object({
    id: instanceId.optional(),
    /** Earlier versions of the API. */
    instance_id: instanceId.optional(),
    machine_id: token,
    state: z.enum(INSTANCE_STATES).catch("unknown"),
    update_time: z.string().max(64).nullish().catch(null),
    pulling_progress: share.optional(),
    deletion_cost: z.number().int().nullish().catch(null),
  })
  .transform((one) => ({
    // The API of Kelpie puts the id of the machine in its place.
    id: one.id ?? one.instance_id ?? one.machine_id,
    machineId: one.machine_id,
    state: one.state,
    updatedAt: timeOf(one.update_time ?? null),
    pulledPercent: one.pulling_progress ?? null,
    deletionCost: one.deletion_cost ?? null,
  }));
const instances = z.object({ instances: z.array(instance).max(MOST_INSTANCES) });

const limit = z.number().int().min(0).max(1_000_000).nullish().catch(null);
const quotas = z.object({
  container_groups_quotas: z
    .object({
      container_replicas_quota: limit,
      container_replicas_used: limit,
      max_container_group_reallocations_per_minute: limit,
      max_container_group_recreates_per_minute: limit,
      max_container_group_restarts_per_minute: limit,
    })
    .optional(),
});

const gpuClass = z.object({
  id: token,
  name: shown(128),
  prices: z
    .array(z.object({ priority: token, price: z.coerce.number().min(0).max(10_000) }))
    .max(20)
    .nullish()
    .catch(null),
});
const gpuClasses = z.object({ items: z.array(gpuClass).max(1_000) });

function timeOf(text: string | null): number | null {
  const at = text === null ? Number.NaN : Date.parse(text);
  return Number.isFinite(at) ? at : null;
}

export function createSaladProvider(access: SaladAccess): GroupProvider {
  const project = ["projects", access.project];
  const containers = [...project, "containers"];
  const ask = (request: SaladRequest) => askSalad(access, request);
  const read = async <T>(schema: z.ZodType<T>, path: readonly string[]): Promise<T> => {
    const parsed = schema.safeParse(await ask({ method: "GET", path }));
    if (parsed.success) return parsed.data;
    const at = parsed.error.issues[0]?.path.join(".") ?? "";
    const detail = `its answer has another form than this hub knows${at === "" ? "" : `, at ${at}`}`;
    throw new Fault("GROUP_REFUSED", { subject: path.at(-1) ?? "", detail });
  };
  const tell = async (request: SaladRequest): Promise<void> => void (await ask(request));
  return {
    listGroups: async () => (await read(groups, containers)).items,
    listInstances: async (name) => (await read(instances, [...containers, name, "instances"])).instances,
    readQuotas: async () => {
      const told = (await read(quotas, ["quotas"])).container_groups_quotas;
      const most = told?.container_replicas_quota ?? null;
      return {
        replicas: most === null ? null : { most, used: told?.container_replicas_used ?? 0 },
        perMinute: {
          reallocate: told?.max_container_group_reallocations_per_minute ?? null,
          recreate: told?.max_container_group_recreates_per_minute ?? null,
          restart: told?.max_container_group_restarts_per_minute ?? null,
        },
      };
    },
    listGpuClasses: async () =>
      (await read(gpuClasses, ["gpu-classes"])).items.map(({ id, name, prices }) => ({
        id,
        name,
        currency: CURRENCY,
        prices: new Map((prices ?? []).map(({ priority, price }) => [priority, price])),
      })),
    act: (place, action) =>
      tell({
        method: "POST",
        path: [...containers, place.group, "instances", place.instanceId, action],
        isOnce: true,
      }),
    setDeletionCost: (place, cost) =>
      tell({
        method: "PATCH",
        path: [...containers, place.group, "instances", place.instanceId],
        patch: { deletion_cost: Math.min(MOST_DELETION_COST, cost) },
      }),
    setReplicas: (name, replicas) => tell({ method: "PATCH", path: [...containers, name], patch: { replicas } }),
    start: (name) => tell({ method: "POST", path: [...containers, name, "start"] }),
    stop: (name) => tell({ method: "POST", path: [...containers, name, "stop"] }),
  };
}
