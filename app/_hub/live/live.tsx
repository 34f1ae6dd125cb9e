"use client";
import { useEffect, useState, useSyncExternalStore } from "react";
import { transferPhaseOf } from "#protocol/fleet/node-status.ts";
import type { EventRow, FleetView, NodeRow, TransferRow, NodeState } from "#protocol/wire/views.ts";
import { EMPTY_LIVE, type LiveState } from "./live-merge.ts";
import { liveStore, liveFrames, type LinkView } from "./live-store.ts";

/** Hooks over the live state. A value keeps its identity while unchanged, so only components whose value changed render. */

const useLive = <Value,>(select: (state: LiveState) => Value): Value =>
  useSyncExternalStore(
    liveStore.subscribe,
    () => select(liveStore.state()),
    () => select(EMPTY_LIVE),
  );

export const useFleet = (): FleetView | null => useLive((state) => state.fleet);
export const useNodeCount = (): number => useLive((state) => state.fleet?.nodes ?? 0);
export const useActiveCount = (): number => useLive((state) => state.fleet?.activeTransfers ?? 0);
/** Returns the nodes for lists and counts, at most a second older than `useNode`. Null until they have arrived. */
export const useNodes = (): ReadonlyMap<string, NodeRow> | null => useLive((state) => state.nodes);
/** Returns the newest row of a node, never older than the list that shows it. */
export const useNode = (id: string): NodeRow | null =>
  useSyncExternalStore(
    liveStore.subscribeToRows,
    () => liveStore.node(id),
    () => null,
  );
/** Returns a function that looks up the state of any node in the list. */
export function useStateOfNode(): (nodeId: string) => NodeState | null {
  const nodes = useNodes();
  return (nodeId) => nodes?.get(nodeId)?.state ?? null;
}
/** Returns a node by id or name, as given in addresses. Ids win, because names are chosen by strangers. */
export function useNodeAt(idOrName: string): NodeRow | null {
  const id = useLive(({ nodes }) => {
    if (nodes === null || nodes.has(idOrName)) return idOrName;
    for (const row of nodes.values()) if (row.name === idOrName) return row.id;
    return idOrName;
  });
  return useNode(id);
}
export const useLiveTransfers = (): ReadonlyMap<string, TransferRow> | null => useLive((state) => state.transfers);
/** Returns the number of moving transfers: the same as the transfer list shows under "Now". */
export const useMovingCount = (): number =>
  useLive(({ transfers, nodes }) => {
    let count = 0;
    for (const row of transfers?.values() ?? [])
      if (transferPhaseOf(row.state, nodes?.get(row.nodeId)?.state ?? null) === "moving") count++;
    return count;
  });
export const useLiveTransfer = (id: string | null): TransferRow | null =>
  useLive((state) => (id === null ? null : (state.transfers?.get(id) ?? null)));
export const useLiveEvents = (): readonly EventRow[] | null => useLive((state) => state.events);

/** Returns the hub's current time, estimated from the last message. */
export const hubNow = (): number => Date.now() + liveStore.link().hubAheadMs;

const tickers = new Map<number, { at: number; listeners: Set<() => void>; timer: ReturnType<typeof setInterval> }>();

function subscribeTick(everyMs: number, listener: () => void): () => void {
  let ticker = tickers.get(everyMs);
  if (ticker === undefined) {
    const made = {
      at: hubNow(),
      listeners: new Set<() => void>(),
      timer: setInterval(
        () =>
          liveFrames.take(`every ${everyMs}`, () => {
            made.at = hubNow();
            for (const one of made.listeners) one();
          }),
        everyMs,
      ),
    };
    ticker = made;
    tickers.set(everyMs, made);
  }
  const held = ticker;
  held.listeners.add(listener);
  return () => {
    held.listeners.delete(listener);
    if (held.listeners.size > 0) return;
    clearInterval(held.timer);
    tickers.delete(everyMs);
  };
}

type Pace = 1000 | 5000 | 10_000;
const SUBSCRIBE: Record<Pace, (listener: () => void) => () => void> = {
  1000: (listener) => subscribeTick(1000, listener),
  5000: (listener) => subscribeTick(5000, listener),
  10000: (listener) => subscribeTick(10_000, listener),
};

let firstNow = 0;
const lastTick = (everyMs: Pace): number =>
  tickers.get(everyMs)?.at ?? (firstNow === 0 ? (firstNow = hubNow()) : firstNow);

/** Returns the hub's time, updated every `everyMs` by one timer per interval. 0 during server rendering and hydration. */
export const useHubNow = (everyMs: Pace): number =>
  useSyncExternalStore(
    SUBSCRIBE[everyMs],
    () => lastTick(everyMs),
    () => 0,
  );

let slowFleet: { at: number; fleet: FleetView | null } = { at: 0, fleet: null };
function fleetOfTick(): FleetView | null {
  const at = lastTick(5000);
  if (slowFleet.at !== at || slowFleet.fleet === null) slowFleet = { at, fleet: liveStore.state().fleet };
  return slowFleet.fleet;
}
/** Returns the fleet every five seconds, for charts: in that time an hour-long chart moves by about a pixel. */
export const useFleetSlowly = (): FleetView | null => useSyncExternalStore(SUBSCRIBE[5000], fleetOfTick, () => null);

/** Returns a text that depends on the time, checked every second. It renders only when the text changes. */
export const useTimeWords = (words: (now: number) => string): string =>
  useSyncExternalStore(
    SUBSCRIBE[1000],
    () => words(lastTick(1000)),
    () => words(0),
  );

/** Without a message for this long the page counts as stale. A quiet hub still sends one every 4 s. */
const STALE_AFTER_MS = 10_000;

export interface Liveness {
  state: "connecting" | "live" | "stale";
  /** Milliseconds since the last message; null before the first. */
  silentMs: number | null;
}

/** Returns the result of `look`, called every `everyMs`. An unchanged result does not render. */
function useLooked<Value>(everyMs: number, first: Value, look: () => Value): Value {
  const [found, setFound] = useState(first);
  useEffect(() => {
    const again = (): void => setFound(look);
    again();
    const timer = setInterval(again, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, look]);
  return found;
}

const CONNECTING: Liveness = { state: "connecting", silentMs: null };
const livenessNow = (): Liveness => livenessOf(liveStore.link(), Date.now());
const liveStateNow = (): Liveness["state"] => livenessNow().state;

/** Returns whether the page's numbers are current, checked every second. */
export const useLiveState = (): Liveness["state"] => useLooked(1000, CONNECTING.state, liveStateNow);

/** Returns the age of the page's numbers, updated every `everyMs`. */
export const useLiveness = (everyMs: number): Liveness => useLooked(everyMs, CONNECTING, livenessNow);

export function livenessOf(view: LinkView, nowMs: number): Liveness {
  if (view.lastMessageAt === null) return { state: "connecting", silentMs: null };
  const silentMs = Math.max(0, nowMs - view.lastMessageAt);
  const stale = silentMs > STALE_AFTER_MS || (view.link === "lost" && silentMs > 3000);
  return { state: stale ? "stale" : "live", silentMs };
}
