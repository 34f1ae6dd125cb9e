import type { LiveMessage } from "#protocol/views.ts";
import { EMPTY_LIVE, mergeChanges, mergeLive, type LiveState, type NodeChanges } from "./live-merge.ts";

/** `connecting`: nothing has come yet; `live`: messages come; `lost`: the stream broke and is being made again. */
export type LinkState = "connecting" | "live" | "lost";

/** What the link itself knows: its state, when the last message came, and how far the hub's clock is ahead. */
export interface LinkView {
  link: LinkState;
  lastMessageAt: number | null;
  hubAheadMs: number;
}

/** Nodes are drawn again so often at most: of a large fleet they come in several messages a second. */
const NODES_EVERY_MS = 500;

/** Holds the live state of one page. The link writes, hooks read. */
export class LiveStore {
  #state: LiveState = EMPTY_LIVE;
  /** Have come and are not shown yet. */
  #waiting: NodeChanges[] = [];
  #nodesShownAt = -Infinity;
  #later: ReturnType<typeof setTimeout> | undefined;
  #link: LinkView = { link: "connecting", lastMessageAt: null, hubAheadMs: 0 };
  readonly #listeners = new Set<() => void>();

  /** All that has come, shown or not: what a tab that joins is told. */
  readonly latest = (): LiveState => mergeChanges(this.#state, this.#waiting);

  readonly state = (): LiveState => this.#state;
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
    if (message.type === "node-changes") {
      this.#waiting.push(message);
      this.#showNodes(nowMs);
      return;
    }
    this.#takeWaiting();
    this.#state = mergeLive(this.#state, message);
    this.#show(nowMs);
  }

  #showNodes(nowMs: number): void {
    const restMs = this.#nodesShownAt + NODES_EVERY_MS - nowMs;
    if (restMs <= 0 || restMs > NODES_EVERY_MS) this.#show(nowMs);
    else this.#later ??= setTimeout(() => this.#show(nowMs + restMs), restMs);
  }

  #show(nowMs: number): void {
    this.#nodesShownAt = nowMs;
    this.#tell();
  }

  #takeWaiting(): void {
    this.#state = mergeChanges(this.#state, this.#waiting);
    this.#waiting = [];
  }

  setLink(link: LinkState): void {
    if (this.#link.link === link) return;
    this.#link = { ...this.#link, link };
    this.#tell();
  }

  clear(): void {
    this.#state = EMPTY_LIVE;
    this.#waiting = [];
    this.#link = { link: "connecting", lastMessageAt: null, hubAheadMs: 0 };
    this.#tell();
  }

  #tell(): void {
    clearTimeout(this.#later);
    this.#later = undefined;
    this.#takeWaiting();
    for (const listener of this.#listeners) listener();
  }
}

export const liveStore = new LiveStore();
