import type { FaultCode } from "#protocol/faults/fault-table.ts";
import type { Clock } from "../base/clock.ts";
import type { Capture } from "../capture/capture.ts";
import { MENDED_AT_STORE } from "./judge-failure.ts";
import type { Ledger } from "../capture/ledger.ts";

const RETRY_REFUSED_MS = 60_000;

export interface RefusedUploads {
  /** Remembers a failed capture, when a repair at the store may make it succeed. */
  note(item: Capture, code: FaultCode): void;
  /** Makes those captures wait again whose time has come. */
  retry(): Promise<void>;
}

/**
 * Retries captures that the store refused from time to time, so that they become safe without a person's action at this node.
 */
export function createRefusedUploads(parts: { ledger: Ledger; clock: Clock; wallNow: () => number }): RefusedUploads {
  const { ledger, clock, wallNow } = parts;
  const refusedAt = new Map<string, number>();
  return {
    note: ({ id }, code) => {
      if (MENDED_AT_STORE.has(code)) refusedAt.set(id, clock.now());
    },
    retry: async () => {
      for (const [id, at] of refusedAt) {
        if (clock.now() - at < RETRY_REFUSED_MS) continue;
        refusedAt.delete(id);
        if (ledger.get(id)?.state === "failed") await ledger.move(id, "waiting", { by: "node", at: wallNow() });
      }
    },
  };
}
