import { changeNode } from "#protocol/fleet/node-changes.ts";
import type { LiveMessage, NodeRow } from "#protocol/wire/views.ts";
import { FrameScheduler } from "../../_ui/rendering/frame-scheduler.ts";
import { EMPTY_LIVE, mergeLive, type ListMessage, type LiveState } from "./live-merge.ts";

/** `connecting`: no message yet; `live`: messages arrive; `lost`: the stream broke and is being reopened. */
export type LinkState = "connecting" | "live" | "lost";

/** State of the link: when the last message arrived, and how far the hub's clock is ahead of the browser's. */
export interface LinkView {
  link: LinkState;
  lastMessageAt: number | null;
  hubAheadMs: number;
}

/**
 * Shortest interval between updates of node lists, with their counts and order, in milliseconds. Single rows update at once. A
 * large fleet sends several messages a second, and sorting thousands of rows for each would be noticeable.
 */
const LISTS_EVERY_MS = 800;
/**
 * Shortest delay of a list update, in milliseconds. One event at a node causes several messages; the list shows them together.
 */
const LISTS_AFTER_MS = 150;

type NodeChanges = Extract<LiveMessage, { type: "node-changes" }>;

function tell(listeners: ReadonlySet<() => void>): void {
  for (const listener of listeners) listener();
}

/** Holds the live state of one page. The link writes it, hooks read it. */
export class LiveStore {
  readonly #turns: FrameScheduler;
  #state: LiveState = EMPTY_LIVE;
  /** Nodes with every change applied; those in `#state` are as of the last list update. */
  #rows: Map<string, NodeRow> | null = null;
  #listedAt = -Infinity;
  /** Messages received but not merged into the state yet, by the task that will merge them. */
  #waiting = new Map<string, ListMessage[]>();
  #later: ReturnType<typeof setTimeout> | undefined;
  #link: LinkView = { link: "connecting", lastMessageAt: null, hubAheadMs: 0 };
  readonly #listeners = new Set<() => void>();
  readonly #rowListeners = new Set<() => void>();

  /** Lists, rows, transfers and everything else are separate tasks in `turns`, each with a frame of its own. */
  constructor(turns: FrameScheduler) {
    this.#turns = turns;
  }

  readonly state = (): LiveState => this.#state;
  readonly node = (id: string): NodeRow | null => this.#rows?.get(id) ?? null;
  /** Returns everything received, merged into the state or not: the state that a joining tab gets. */
  readonly latest = (): LiveState => ({
    ...[...this.#waiting.values()].flat().reduce(mergeLive, this.#state),
    nodes: this.#rows,
  });
  readonly link = (): LinkView => this.#link;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  /** Subscribes to `node()` alone. */
  readonly subscribeToRows = (listener: () => void): (() => void) => {
    this.#rowListeners.add(listener);
    return () => this.#rowListeners.delete(listener);
  };

  apply(message: LiveMessage, nowMs: number): void {
    const hubAt = message.type === "beat" ? message.at : message.type === "fleet" ? message.fleet.at : null;
    this.#link = {
      link: "live",
      lastMessageAt: nowMs,
      hubAheadMs: hubAt === null ? this.#link.hubAheadMs : hubAt - nowMs,
    };
    switch (message.type) {
      case "node-changes":
        this.#change(message, nowMs);
        return;
      case "nodes":
        this.#state = mergeLive(this.#state, message);
        this.#rows = new Map(this.#state.nodes);
        this.#listed(nowMs);
        this.#turns.take("all", () => this.#tell());
        return;
      case "transfers":
        // A whole list supersedes the messages before it.
        if (message.whole) this.#waiting.delete("transfers");
        this.#wait("transfers", message);
        return;
      case "fleet":
      case "events":
        this.#wait("fleet", message);
        return;
      case "stale":
      case "beat":
    }
  }

  #wait(turn: string, message: ListMessage): void {
    const waiting = this.#waiting.get(turn);
    if (waiting === undefined) this.#waiting.set(turn, [message]);
    else waiting.push(message);
    this.#turns.take(turn, () => {
      this.#state = (this.#waiting.get(turn) ?? []).reduce(mergeLive, this.#state);
      this.#waiting.delete(turn);
      tell(this.#listeners);
    });
  }

  /** Changes that arrive before the first list, or for an unknown node, are ignored. */
  #change({ joined, changed }: NodeChanges, nowMs: number): void {
    const rows = this.#rows;
    if (rows === null) return;
    for (const row of joined) rows.set(row.id, row);
    for (const change of changed) {
      const before = rows.get(change.id);
      if (before !== undefined) rows.set(change.id, changeNode(before, change));
    }
    this.#turns.take("rows", () => tell(this.#rowListeners));
    const restMs = Math.min(LISTS_EVERY_MS, Math.max(LISTS_AFTER_MS, this.#listedAt + LISTS_EVERY_MS - nowMs));
    this.#later ??= setTimeout(() => {
      this.#listed(nowMs + restMs);
      this.#turns.take("lists", () => {
        this.#state = { ...this.#state, nodes: this.#rows === null ? null : new Map(this.#rows) };
        tell(this.#listeners);
      });
    }, restMs);
  }

  #listed(nowMs: number): void {
    this.#listedAt = nowMs;
    clearTimeout(this.#later);
    this.#later = undefined;
  }

  setLink(link: LinkState): void {
    if (this.#link.link === link) return;
    this.#link = { ...this.#link, link };
    this.#tell();
  }

  clear(): void {
    this.#state = EMPTY_LIVE;
    this.#rows = null;
    this.#waiting.clear();
    this.#listed(-Infinity);
    this.#link = { link: "connecting", lastMessageAt: null, hubAheadMs: 0 };
    this.#tell();
  }

  #tell(): void {
    tell(this.#rowListeners);
    tell(this.#listeners);
  }
}

/** Schedules all periodic drawing of the page, one task per frame. */
export const liveFrames = new FrameScheduler();
export const liveStore = new LiveStore(liveFrames);
