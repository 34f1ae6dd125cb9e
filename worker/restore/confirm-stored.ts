import { MOST_CONFIRMED } from "#protocol/wire/hello.ts";
import type { Hub } from "../hub-link/hub.ts";
import type { Ledger } from "../capture/ledger.ts";

/**
 * Decides whether a local copy may be removed, which is so only while the bucket has the same. The ledger remembers that the
 * copy was stored. Somebody may have removed the checkpoint since, so the hub is asked each time. Without an answer nothing
 * counts as stored.
 */
export interface Stored {
  /** Returns the checkpoint that stored this content of this path; null: it was never stored. */
  storedAs(path: string, fingerprint: string): string | null;
  /** Returns the checkpoints that are complete in the bucket now. No faults. */
  confirm(checkpointIds: readonly string[]): Promise<ReadonlySet<string>>;
}

export const storedOf = ({ ledger, hub }: { ledger: Pick<Ledger, "storedAs">; hub: Pick<Hub, "ask"> }): Stored => ({
  storedAs: ledger.storedAs,
  confirm: async (checkpointIds) => {
    const complete = new Set<string>();
    for (let from = 0; from < checkpointIds.length; from += MOST_CONFIRMED) {
      const asked = checkpointIds.slice(from, from + MOST_CONFIRMED);
      const answer = await hub
        .ask("confirmComplete", (client, signal) =>
          client.node.confirmComplete.query({ checkpointIds: asked }, { signal }),
        )
        .catch(() => null);
      // The hub is away, and the next question would wait as long.
      if (answer === null) break;
      for (const id of answer.complete) complete.add(id);
    }
    return complete;
  },
});

/** Returns whether exactly this content of this path is in the bucket now. No faults. */
export async function isStoredNow(stored: Stored, path: string, fingerprint: string): Promise<boolean> {
  const checkpointId = stored.storedAs(path, fingerprint);
  return checkpointId !== null && (await stored.confirm([checkpointId])).has(checkpointId);
}
