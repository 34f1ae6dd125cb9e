import { setTimeout } from "node:timers/promises";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import { PRESETS } from "../providers/providers.ts";
import type { Credential, StoreAccess } from "../signing/signing.ts";
import { CONTROL, TEST_CREDENTIAL, folderForTests, spawnStore } from "./spawn-store.ts";

/** For tests: the embedded store in a process of its own, with its control interface. */
export interface OpenedStore {
  access: StoreAccess;
  credential: Credential;
  /** Arms a fault; see store/fault-rules.ts for the rules. */
  arm: (rule: Record<string, unknown>) => Promise<void>;
  /** Returns how often an operation was requested and how often it succeeded, once no request is in flight. */
  asked: (operation: string) => Promise<{ requests: number; succeeded: number }>;
  resetCounters: () => Promise<void>;
  close: () => Promise<void>;
}

interface Counted {
  inFlight: number;
  targets: readonly { requests: number; succeeded: number }[];
}

export async function openStore(traits: Partial<StoreTraits> = {}): Promise<OpenedStore> {
  const folder = await folderForTests("tidemark-store-");
  const store = await spawnStore(folder, ["--bucket", "training", "--no-fsync", "--control", CONTROL]);
  const { endpoint, control } = store;
  // The store counts a request when it ends, which may be just after the client has received the whole answer.
  const countersOf = async (operation: string): Promise<Counted> => {
    for (;;) {
      const counted = (await control("GET", `/counters?op=${operation}`)) as Counted;
      if (counted.inFlight === 0) return counted;
      await setTimeout(5);
    }
  };
  return {
    access: {
      endpoint,
      region: "us-east-1",
      bucket: "training",
      addressing: "path",
      traits: { ...PRESETS.minio.traits, ...traits },
    },
    credential: TEST_CREDENTIAL,
    arm: async (rule) => void (await control("POST", "/rules", rule)),
    asked: async (operation) => {
      const { targets } = await countersOf(operation);
      const sum = (name: "requests" | "succeeded") => targets.reduce((total, target) => total + target[name], 0);
      return { requests: sum("requests"), succeeded: sum("succeeded") };
    },
    resetCounters: async () => {
      await countersOf("GetObject");
      await control("DELETE", "/counters");
      await control("DELETE", "/rules");
    },
    close: store.close,
  };
}
