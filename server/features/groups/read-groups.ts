import { toFault, type FaultData } from "#protocol/faults/fault.ts";
import type { GroupAccount } from "#prisma/client/client.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { accountMemory, type AccountMemory } from "#server/core/live/group-memory.ts";
import { withProvider } from "./open-provider.ts";
import type { GpuClass, GroupProvider, ProvidedGroup, ProvidedInstance } from "./provider.ts";

/** Reads the groups of an account for the pages, which ask often: all readers share an answer for some seconds. */

const GOOD_FOR_MS = 15_000;
const CLASSES_GOOD_FOR_MS = 3_600_000;
const CLASSES_AGAIN_MS = 60_000;
/** Requests for instances in flight. */
const AT_ONCE = 4;

export interface ReadGroup {
  group: ProvidedGroup;
  instances: ProvidedInstance[];
  fault: FaultData | null;
}

export interface Reading {
  groups: ReadGroup[];
  classes: ReadonlyMap<string, GpuClass>;
}

const readings = new WeakMap<AccountMemory, { until: number; reading: Promise<Reading> }>();
const classesOf = new WeakMap<AccountMemory, { until: number; classes: ReadonlyMap<string, GpuClass> }>();

/** Returns the GPU classes of an account by id. Without an answer there are no prices, which is no fault of the groups. */
export async function readClasses(
  hub: Hub,
  accountId: string,
  provider: GroupProvider,
): Promise<ReadonlyMap<string, GpuClass>> {
  const memory = accountMemory(hub.groups, accountId);
  const known = classesOf.get(memory);
  if (known !== undefined && hub.now() < known.until) return known.classes;
  try {
    const classes = new Map((await provider.listGpuClasses()).map((one) => [one.id, one]));
    classesOf.set(memory, { until: hub.now() + CLASSES_GOOD_FOR_MS, classes });
    return classes;
  } catch (error) {
    const classes = known?.classes ?? new Map<string, GpuClass>();
    classesOf.set(memory, { until: hub.now() + CLASSES_AGAIN_MS, classes });
    hub.log.warn({ fault: toFault(error).toData() }, "the prices of GPU classes could not be read");
    return classes;
  }
}

const readAll = (hub: Hub, account: GroupAccount): Promise<Reading> =>
  withProvider(hub, account, async (provider) => {
    const groups = await provider.listGroups();
    const classes = await readClasses(hub, account.id, provider);
    const read: ReadGroup[] = [];
    for (let from = 0; from < groups.length; from += AT_ONCE) {
      read.push(
        ...(await Promise.all(
          groups.slice(from, from + AT_ONCE).map((group) =>
            provider.listInstances(group.name).then(
              (instances): ReadGroup => ({ group, instances, fault: null }),
              (error: unknown): ReadGroup => ({ group, instances: [], fault: toFault(error).toData() }),
            ),
          ),
        )),
      );
    }
    return { groups: read, classes };
  });

/** Returns the groups of an account with their instances, at most 15 seconds old. @throws Fault of the provider */
export async function readGroups(hub: Hub, account: GroupAccount): Promise<Reading> {
  const memory = accountMemory(hub.groups, account.id);
  const known = readings.get(memory);
  if (known !== undefined && hub.now() < known.until) return known.reading;
  const reading = readAll(hub, account);
  readings.set(memory, { until: hub.now() + GOOD_FOR_MS, reading });
  // A fault goes to the callers that wait, and the next caller asks again.
  reading.catch(() => readings.delete(memory));
  return reading;
}

/** Makes the next reader ask the provider: something was changed. */
export const forgetReading = (hub: Hub, accountId: string): void =>
  void readings.delete(accountMemory(hub.groups, accountId));
