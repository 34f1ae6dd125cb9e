import type { FaultClass } from "./fault-class.ts";
import { openRig, type Rig, type RigOptions } from "./rig.ts";

/** Rigs that trials take and give back, so that several can run side by side and none shares a store with another. */
export interface RigPool {
  /** Runs `work` with a rig whose store departs from AWS as the class says. */
  use<T>(store: StoreOptions, work: (rig: Rig) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export type StoreOptions = Pick<FaultClass, "quirks" | "provider">;

/** A store keeps what it was sent: after this many trials it goes, with its gigabyte or two, and another one is opened. */
const MOST_TRIALS = 25;

export function createRigPool(options: Omit<RigOptions, "quirks" | "provider">): RigPool {
  const free: Rig[] = [];
  const all = new Set<Rig>();
  const trials = new Map<Rig, number>();
  const end = async (rig: Rig) => {
    all.delete(rig);
    trials.delete(rig);
    await rig.close();
  };
  const take = async ({ quirks, provider }: StoreOptions) => {
    const known = quirks === undefined ? free.pop() : undefined;
    if (known !== undefined) return known;
    const rig = await openRig({
      ...options,
      ...(quirks === undefined ? {} : { quirks, provider: provider ?? "minio" }),
    });
    all.add(rig);
    return rig;
  };
  return {
    use: async (store, work) => {
      const rig = await take(store);
      try {
        return await work(rig);
      } finally {
        const done = (trials.get(rig) ?? 0) + 1;
        trials.set(rig, done);
        if (store.quirks === undefined && done < MOST_TRIALS) free.push(rig);
        else await end(rig);
      }
    },
    close: async () => {
      await Promise.all([...all].map(end));
    },
  };
}
