import type { GroupPrice } from "#protocol/groups/groups.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { placeOf } from "./find-stakes.ts";
import type { GpuClass, ProvidedGroup, ProvidedInstance } from "./provider.ts";

/** Prices the hour of a node by the GPU class of its group, for the runs that its nodes write now. */

/** Returns the price of one instance: of the dearest class that it may get. Null when no class has one for its priority. */
export function priceOf(
  { gpuClassIds, priority }: ProvidedGroup,
  classes: ReadonlyMap<string, GpuClass>,
): GroupPrice | null {
  let dearest: GroupPrice | null = null;
  for (const id of gpuClassIds) {
    const known = classes.get(id);
    const perHour = priority === null ? undefined : known?.prices.get(priority);
    if (known === undefined || perHour === undefined) continue;
    if (dearest === null || perHour > dearest.perHour) dearest = { perHour, currency: known.currency };
  }
  return dearest;
}

export interface PricedGroup {
  group: ProvidedGroup;
  instances: readonly ProvidedInstance[];
  price: GroupPrice | null;
}

/** Stores the price of each run that a node of the groups writes. A price that a person typed stays. */
export async function fillPrices(hub: Hub, groups: readonly PricedGroup[]): Promise<void> {
  const priced = groups.filter(({ price }) => price !== null);
  const byGroup = new Map(priced.map(({ group, price }) => [group.id, price]));
  const byMachine = new Map(
    priced.flatMap(({ instances, price }) => instances.map(({ machineId }) => [machineId, price] as const)),
  );
  const wanted = new Map<string, GroupPrice>();
  for (const [run, { nodeId }] of hub.live.writers) {
    const node = hub.live.nodes.get(nodeId);
    const place = node === undefined ? null : placeOf(node);
    if (place === null) continue;
    const price = place.groupId === null ? byMachine.get(place.machineId) : byGroup.get(place.groupId);
    if (price !== undefined && price !== null) wanted.set(run, price);
  }
  if (wanted.size === 0) return;
  const stored = new Map((await hub.db.nodePrice.findMany()).map((row) => [row.scope, row]));
  for (const [scope, { perHour, currency }] of wanted) {
    const before = stored.get(scope);
    if (before?.isFromGroup === false) continue;
    if (before?.perHour === perHour && before.currency === currency) continue;
    const data = { perHour, currency, isFromGroup: true, updatedAt: new Date(hub.now()) };
    await hub.db.nodePrice.upsert({ where: { scope }, update: data, create: { scope, ...data } });
    hub.live.markStale(["runs"]);
  }
}
