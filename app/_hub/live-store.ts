import { changeNode } from "#protocol/node-changes.ts";
import type { LiveMessage, NodeRow } from "#protocol/views.ts";
import { EMPTY_LIVE, mergeLive, type LiveState } from "./live-merge.ts";

/** `connecting`: nothing has come yet; `live`: messages come; `lost`: the stream broke and is being made again. */
export type LinkState = "connecting" | "live" | "lost";

/** What the link itself knows: its state, when the last message came, and how far the hub's clock is ahead. */
export interface LinkView {
  link: LinkState;
  lastMessageAt: number | null;
  hubAheadMs: number;
}

/**
 * Lists of nodes, what is counted in them and their order follow so often at most. A row follows at once: of a large fleet
 * changes come in several messages a second, and putting thousands in order again for each would be felt.
 */
const LISTS_EVERY_MS = 800;
/** Not in the same frame as what the hub says of the whole fleet just before: each of these takes some of a frame's time. */
const LISTS_AFTER_MS = 150;
const TRANSFERS_AFTER_MS = 60;

type TransferChanges = Extract<LiveMessage, { type: "transfers" }>;
type NodeChanges = Extract<LiveMessage, { type: "node-changes" }>;

/** Holds the live state of one page. The link writes, hooks read. */
export class LiveStore {
  #state: LiveState = EMPTY_LIVE;
  /** The nodes as told last; those of the state are as they were when the lists followed. */
  #rows: Map<string, NodeRow> | null = null;
  #listedAt = -Infinity;
  /** Have come and are not in the state yet. */
  #moved: TransferChanges[] = [];
  #later: ReturnType<typeof setTimeout> | undefined;
  #isTelling = false;
  #link: LinkView = { link: "connecting", lastMessageAt: null, hubAheadMs: 0 };
  readonly #listeners = new Set<() => void>();

  readonly state = (): LiveState => this.#state;
  readonly node = (id: string): NodeRow | null => this.#rows?.get(id) ?? null;
  /** All that has come, in lists or not: what a tab that joins is told. */
  readonly latest = (): LiveState => ({ ...this.#moved.reduce(mergeLive, this.#state), nodes: this.#rows });
  readonly link = (): LinkView => this.#link;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  apply(message: LiveMessage, nowMs: number): void {
    const hubAt = message.type === "beat" ? message.at : message.type === "fleet" ? message.fleet.at : null;
    this.#link = {
      link: "live",
      lastMessageAt: nowMs,
      hubAheadMs: hubAt === null ? this.#link.hubAheadMs : hubAt - nowMs,
    };
    if (message.type === "node-changes") this.#change(message, nowMs);
    else if (message.type === "transfers" && !message.whole) this.#move(message);
    else {
      if (message.type === "transfers") this.#moved = [];
      this.#state = mergeLive(this.#state, message);
      if (message.type === "nodes") {
        this.#rows = new Map(this.#state.nodes);
        this.#listed(nowMs);
      }
    }
    this.#tellSoon();
  }

  #move(message: TransferChanges): void {
    this.#moved.push(message);
    if (this.#moved.length > 1) return;
    setTimeout(() => {
      this.#state = this.#moved.reduce(mergeLive, this.#state);
      this.#moved = [];
      this.#tell();
    }, TRANSFERS_AFTER_MS);
  }

  /** Changes of nodes that were never told say nothing. */
  #change({ joined, changed }: NodeChanges, nowMs: number): void {
    const rows = this.#rows;
    if (rows === null) return;
    for (const row of joined) rows.set(row.id, row);
    for (const change of changed) {
      const before = rows.get(change.id);
      if (before !== undefined) rows.set(change.id, changeNode(before, change));
    }
    const restMs = Math.min(LISTS_EVERY_MS, Math.max(LISTS_AFTER_MS, this.#listedAt + LISTS_EVERY_MS - nowMs));
    this.#later ??= setTimeout(() => {
      this.#list(nowMs + restMs);
      this.#tell();
    }, restMs);
  }

  #list(nowMs: number): void {
    this.#state = { ...this.#state, nodes: new Map(this.#rows) };
    this.#listed(nowMs);
  }

  /** Messages come several together: they are drawn once. */
  #tellSoon(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    setTimeout(() => {
      this.#isTelling = false;
      this.#tell();
    }, 0);
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
    this.#moved = [];
    this.#listed(-Infinity);
    this.#link = { link: "connecting", lastMessageAt: null, hubAheadMs: 0 };
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

export const liveStore = new LiveStore();
