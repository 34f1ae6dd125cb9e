import type { FaultClass } from "./fault-class.ts";
import { openRig, type Rig, type RigOptions } from "./rig.ts";

/** Rigs that trials take and give back, so that several can run side by side and none shares a store with another. */
export interface RigPool {
  /** Runs `work` with a rig whose store departs from AWS as the class says. */
  use<T>(store: StoreWish, work: (rig: Rig) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export type StoreWish = Pick<FaultClass, "quirks" | "provider">;

export function createRigPool(options: Omit<RigOptions, "quirks" | "provider">): RigPool {
  const free: Rig[] = [];
  const all = new Set<Rig>();
  const take = async ({ quirks, provider }: StoreWish) => {
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
        if (store.quirks === undefined) free.push(rig);
        else {
          all.delete(rig);
          await rig.close();
        }
      }
    },
    close: async () => {
      await Promise.all([...all].map((rig) => rig.close()));
      all.clear();
    },
  };
}
