"use client";
import { isHeard } from "#protocol/fleet/node-status.ts";
import { useEffect, useSyncExternalStore } from "react";
import type { TransferRow, NodeState } from "#protocol/wire/views.ts";
import { isEnded, type TransferAction, type TransferState } from "./transfer-words.ts";

/**
 * What a person asked of a transfer, from the click until it is so. It is shown at once; the hub's word about the transfer
 * settles it. One that its node does not carry out in time is said to be late, and the transfer is shown as it is.
 */
export interface Wish {
  action: TransferAction;
  /** `asking`: the hub has not answered; `asked`: it has, and the node is told; `late`: nothing came of it yet. */
  phase: "asking" | "asked" | "late";
}

const LATE_AFTER_MS = 20_000;

/** Whether a transfer in this state is what was wished for, or cannot become it any more. */
export function isMet(action: TransferAction, state: TransferState): boolean {
  switch (action) {
    case "pause":
      return state !== "running" && state !== "waiting";
    case "cancel":
      return isEnded(state);
    case "resume":
      return state !== "paused";
    case "retry":
      return state !== "failed";
  }
}

export const WISH_WORDS: Record<TransferAction, string> = {
  pause: "pausing",
  cancel: "cancelling",
  resume: "resuming",
  retry: "trying again",
};

/** `gpu-7 was asked to pause it`, and why nothing has come of it. */
export function wishNote({ action, phase }: Wish, node: { name: string; state: NodeState }): string | null {
  const asked = { pause: "pause it", cancel: "cancel it", resume: "go on", retry: "try again" }[action];
  if (!isHeard(node.state)) return `${node.name} is ${node.state}: asked to ${asked}, it hears of it when it is back.`;
  return phase === "late" ? `${node.name} was asked to ${asked} and has not said that it did.` : null;
}

interface Wishes {
  /** Says it to the hub; rejects as `tell` does, and then nothing is wished for. */
  make: (transferId: string, action: TransferAction, tell: () => Promise<unknown>) => Promise<void>;
  of: (transferId: string) => Wish | null;
  /** Forgets this very wish: a newer one stays. */
  settle: (transferId: string, wish: Wish) => void;
  subscribe: (listener: () => void) => () => void;
}

export function createWishes(later: (run: () => void, ms: number) => void): Wishes {
  const wishes = new Map<string, Wish>();
  const listeners = new Set<() => void>();
  const put = (transferId: string, wish: Wish | null): void => {
    if (wish === null) wishes.delete(transferId);
    else wishes.set(transferId, wish);
    for (const listener of listeners) listener();
  };
  const follow = (transferId: string, before: Wish, after: Wish | null): void => {
    if (wishes.get(transferId) === before) put(transferId, after);
  };
  return {
    make: async (transferId, action, tell) => {
      const asking: Wish = { action, phase: "asking" };
      put(transferId, asking);
      try {
        await tell();
      } catch (error) {
        follow(transferId, asking, null);
        throw error;
      }
      const asked: Wish = { action, phase: "asked" };
      follow(transferId, asking, asked);
      later(() => follow(transferId, asked, { action, phase: "late" }), LATE_AFTER_MS);
    },
    of: (transferId) => wishes.get(transferId) ?? null,
    settle: (transferId, wish) => follow(transferId, wish, null),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export const wishes = createWishes((run, ms) => {
  setTimeout(run, ms);
});

/** What is wished for of a transfer and not so yet. */
export function useWish({ id, state }: Pick<TransferRow, "id" | "state">): Wish | null {
  const wish = useSyncExternalStore(
    wishes.subscribe,
    () => wishes.of(id),
    () => null,
  );
  const isSo = wish !== null && wish.phase !== "asking" && isMet(wish.action, state);
  useEffect(() => {
    if (isSo) wishes.settle(id, wish);
  }, [id, isSo, wish]);
  return isSo ? null : wish;
}
