import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningStore, startStore } from "../../stage/start-store.ts";
import { setClock } from "../../stage/store-control.ts";
import type { Place } from "./start-life.ts";

/** The embedded store with one run in it. It can be killed, started again with its data, and given another time. */
export interface StorePlace extends Place {
  store(): RunningStore;
  startAgain(): Promise<void>;
  /** Moves the store's clock ahead of that of this machine, in milliseconds; also after a restart. */
  shiftClock(offsetMs: number): Promise<void>;
  close(): Promise<void>;
}

export async function openPlace(run: string, flags: string[] = []): Promise<StorePlace> {
  const dir = mkdtempSync(join(tmpdir(), "tidemark-prove-alone-"));
  const options = { dataDir: join(dir, "store"), control: "alone-control-token", flags };
  let store = await startStore(options);
  const { port } = store;
  let offset = 0;
  return {
    dir,
    address: () => ({ ...store, prefix: "runs", run }),
    store: () => store,
    startAgain: async () => {
      store = await startStore({ ...options, port });
      if (offset !== 0) await setClock(store, offset);
    },
    shiftClock: async (offsetMs) => {
      offset = offsetMs;
      await setClock(store, offset);
    },
    clockOffsetMs: () => offset,
    close: async () => {
      await store.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
