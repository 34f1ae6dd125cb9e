import type { LiveMessage } from "#protocol/views.ts";
import { EMPTY_LIVE, mergeLive, type LiveState } from "./live-merge.ts";

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
  /** With what has come and is not shown yet. */
  #next: LiveState = EMPTY_LIVE;
  #nodesShownAt = -Infinity;
  #later: ReturnType<typeof setTimeout> | undefined;
  #link: LinkView = { link: "connecting", lastMessageAt: null, hubAheadMs: 0 };
  readonly #listeners = new Set<() => void>();

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
    this.#next = mergeLive(this.#next, message);
    if (message.type === "nodes" && !message.whole) this.#showNodes(nowMs);
    else this.#tell();
  }

  #showNodes(nowMs: number): void {
    const restMs = this.#nodesShownAt + NODES_EVERY_MS - nowMs;
    if (restMs <= 0 || restMs > NODES_EVERY_MS) {
      this.#nodesShownAt = nowMs;
      this.#tell();
    } else {
      this.#later ??= setTimeout(() => {
        this.#nodesShownAt = nowMs + restMs;
        this.#tell();
      }, restMs);
    }
  }

  setLink(link: LinkState): void {
    if (this.#link.link === link) return;
    this.#link = { ...this.#link, link };
    this.#tell();
  }

  clear(): void {
    this.#next = EMPTY_LIVE;
    this.#link = { link: "connecting", lastMessageAt: null, hubAheadMs: 0 };
    this.#tell();
  }

  #tell(): void {
    clearTimeout(this.#later);
    this.#later = undefined;
    this.#state = this.#next;
    for (const listener of this.#listeners) listener();
  }
}

export const liveStore = new LiveStore();
