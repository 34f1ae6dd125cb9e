"use client";
import { isHeard } from "#protocol/fleet/node-status.ts";
import { useEffect, useSyncExternalStore } from "react";
import type { TransferRow, NodeState } from "#protocol/wire/views.ts";
import { isEnded, type TransferAction, type TransferState } from "./transfer-words.ts";

/**
 * A person's request to a transfer, from the click until the transfer's state fulfills it. The request is shown at once. When
 * the node does not act in time, it is marked late and the transfer shows its real state again.
 */
export interface PendingAction {
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

export const ACTION_WORDS: Record<TransferAction, string> = {
  pause: "pausing",
  cancel: "cancelling",
  resume: "resuming",
  retry: "trying again",
};

/** Returns a note on a late request, or on a node that does not report: `gpu-7 was asked to pause it …`. Null otherwise. */
export function pendingNote({ action, phase }: PendingAction, node: { name: string; state: NodeState }): string | null {
  const asked = { pause: "pause it", cancel: "cancel it", resume: "go on", retry: "try again" }[action];
  if (!isHeard(node.state))
    return `${node.name} is ${node.state}: asked to ${asked}, it receives that when it is back.`;
  return phase === "late" ? `${node.name} was asked to ${asked} and has not confirmed it.` : null;
}

interface PendingActions {
  /** Sends the request to the hub. Rejects as `tell` does; the request is then dropped. */
  make: (transferId: string, action: TransferAction, tell: () => Promise<unknown>) => Promise<void>;
  of: (transferId: string) => PendingAction | null;
  /** Drops this request; a newer one stays. */
  settle: (transferId: string, pending: PendingAction) => void;
  subscribe: (listener: () => void) => () => void;
}

export function createPendingActions(later: (run: () => void, ms: number) => void): PendingActions {
  const pendingActions = new Map<string, PendingAction>();
  const listeners = new Set<() => void>();
  const put = (transferId: string, pending: PendingAction | null): void => {
    if (pending === null) pendingActions.delete(transferId);
    else pendingActions.set(transferId, pending);
    for (const listener of listeners) listener();
  };
  const follow = (transferId: string, before: PendingAction, after: PendingAction | null): void => {
    if (pendingActions.get(transferId) === before) put(transferId, after);
  };
  return {
    make: async (transferId, action, tell) => {
      const asking: PendingAction = { action, phase: "asking" };
      put(transferId, asking);
      try {
        await tell();
      } catch (error) {
        follow(transferId, asking, null);
        throw error;
      }
      const asked: PendingAction = { action, phase: "asked" };
      follow(transferId, asking, asked);
      later(() => follow(transferId, asked, { action, phase: "late" }), LATE_AFTER_MS);
    },
    of: (transferId) => pendingActions.get(transferId) ?? null,
    settle: (transferId, pending) => follow(transferId, pending, null),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export const pendingActions = createPendingActions((run, ms) => {
  setTimeout(run, ms);
});

/** Returns the unfulfilled request to a transfer; null when there is none. */
export function usePendingAction({ id, state }: Pick<TransferRow, "id" | "state">): PendingAction | null {
  const pending = useSyncExternalStore(
    pendingActions.subscribe,
    () => pendingActions.of(id),
    () => null,
  );
  const isSo = pending !== null && pending.phase !== "asking" && isMet(pending.action, state);
  useEffect(() => {
    if (isSo) pendingActions.settle(id, pending);
  }, [id, isSo, pending]);
  return isSo ? null : pending;
}
