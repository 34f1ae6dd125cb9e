"use client";
import { isHeard } from "#protocol/fleet/node-status.ts";
import { useEffect, useSyncExternalStore } from "react";
import type { TransferRow, NodeState } from "#protocol/wire/views.ts";
import { isEnded, type TransferAction, type TransferState } from "./transfer-words.ts";

/**
 * A person's request to a transfer, from the click until the transfer's state fulfills it. The request is shown at once. When
 * the node does not act in time, it is marked late and the transfer shows its real state again.
 */
export interface Wish {
  action: TransferAction;
  /** `asking`: the hub has not answered; `asked`: it has, and the node is informed; `late`: the state has not changed in time. */
  phase: "asking" | "asked" | "late";
}

const LATE_AFTER_MS = 20_000;

/** Returns whether the state fulfills the request, or has made it impossible. */
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

/** Returns a note on a late request, or on a node that does not report: `gpu-7 was asked to pause it …`. Null otherwise. */
export function wishNote({ action, phase }: Wish, node: { name: string; state: NodeState }): string | null {
  const asked = { pause: "pause it", cancel: "cancel it", resume: "go on", retry: "try again" }[action];
  if (!isHeard(node.state))
    return `${node.name} is ${node.state}: asked to ${asked}, it receives that when it is back.`;
  return phase === "late" ? `${node.name} was asked to ${asked} and has not confirmed it.` : null;
}

interface Wishes {
  /** Sends the request to the hub. Rejects as `tell` does; the request is then dropped. */
  make: (transferId: string, action: TransferAction, tell: () => Promise<unknown>) => Promise<void>;
  of: (transferId: string) => Wish | null;
  /** Drops this request; a newer one stays. */
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

/** Returns the unfulfilled request to a transfer; null when there is none. */
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
