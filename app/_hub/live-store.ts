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

/** Holds the live state of one page. The link writes, hooks read. */
export class LiveStore {
  #state: LiveState = EMPTY_LIVE;
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
    this.#state = mergeLive(this.#state, message);
    this.#tell();
  }

  setLink(link: LinkState): void {
    if (this.#link.link === link) return;
    this.#link = { ...this.#link, link };
    this.#tell();
  }

  clear(): void {
    this.#state = EMPTY_LIVE;
    this.#link = { link: "connecting", lastMessageAt: null, hubAheadMs: 0 };
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

export const liveStore = new LiveStore();
