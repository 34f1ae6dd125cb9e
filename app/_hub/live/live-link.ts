import type { LiveMessage, StaleTopic } from "#protocol/wire/views.ts";
import { faultOf } from "../faults/fault-of.ts";
import { messagesOf } from "./live-merge.ts";
import type { LinkState, LiveStore } from "./live-store.ts";

/**
 * Shares one stream between all tabs of a browser. The tab that holds a Web Lock leads: it keeps the stream and relays every
 * message over a BroadcastChannel. When the leader closes, the lock passes to another tab, which opens a new stream. Without
 * Web Locks (plain HTTP on another host) each tab leads itself. The other tabs wait for the lock, so the leader can count them
 * through `navigator.locks`. A single tab relays nothing.
 */

const LOCK = "tidemark-live";
const COUNT_EVERY_MS = 2_000;
const RETRY_MS = [500, 1000, 2000, 5000, 10_000];

type Relay = { kind: "message"; message: LiveMessage } | { kind: "link"; link: LinkState } | { kind: "joined" };

interface Watching {
  onData: (message: LiveMessage) => void;
  onConnectionStateChange: (change: { state: string; error: unknown }) => void;
  onError: (error: unknown) => void;
  onComplete: () => void;
}

interface LiveLinkOptions {
  store: LiveStore;
  /** Opens the hub's live stream. */
  watch: (watching: Watching) => { unsubscribe: () => void };
  /** Called with the lists that the hub reports as changed. */
  onStale: (topics: readonly StaleTopic[]) => void;
  /** Called when the session ended while the page was open. */
  onSignedOut: () => void;
}

export class LiveLink {
  readonly #options: LiveLinkOptions;
  readonly #stop = new AbortController();
  #channel: BroadcastChannel | null = null;
  #leads = false;
  #count: ReturnType<typeof setInterval> | undefined;
  #hasOthers = false;
  #joinedAt = -Infinity;
  #tries = 0;
  #stream: { unsubscribe: () => void } | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(options: LiveLinkOptions) {
    this.#options = options;
  }

  start(): void {
    const locks = (navigator as { locks?: LockManager }).locks;
    if (locks === undefined || typeof BroadcastChannel === "undefined") {
      this.#lead();
      return;
    }
    this.#channel = new BroadcastChannel(LOCK);
    this.#channel.addEventListener("message", (event: MessageEvent<Relay>) => this.#hear(event.data));
    this.#tell({ kind: "joined" });
    const { signal } = this.#stop;
    const held = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    locks
      .request(LOCK, { signal }, async () => {
        this.#lead();
        await held;
      })
      .catch(() => undefined);
  }

  stop(): void {
    this.#stop.abort();
    clearTimeout(this.#retry);
    clearInterval(this.#count);
    this.#stream?.unsubscribe();
    this.#channel?.close();
  }

  #lead(): void {
    if (this.#stop.signal.aborted) return;
    this.#leads = true;
    this.#open();
    if (this.#channel === null) return;
    void this.#countOthers();
    this.#count = setInterval(() => void this.#countOthers(), COUNT_EVERY_MS);
  }

  /**
   * Updates whether other tabs exist. A tab that joined just now may not wait for the lock yet, so it counts for some seconds.
   * When the first other tab is found, the whole state is sent.
   */
  async #countOthers(): Promise<void> {
    const { pending = [] } = await navigator.locks.query();
    const isJoining = Date.now() - this.#joinedAt < 2 * COUNT_EVERY_MS;
    const hasOthers = isJoining || pending.some(({ name }) => name === LOCK);
    if (hasOthers && !this.#hasOthers) this.#tellAll();
    this.#hasOthers = hasOthers;
  }

  #tellAll(): void {
    this.#hasOthers = true;
    for (const message of messagesOf(this.#options.store.latest())) this.#tell({ kind: "message", message });
  }

  #open(): void {
    this.#stream = this.#options.watch({
      onData: (message) => {
        this.#tries = 0;
        this.#take(message);
        this.#tell({ kind: "message", message });
      },
      onConnectionStateChange: (change) => {
        if (change.state === "connecting" && change.error !== null) this.#setLink("lost");
      },
      onError: (error) => this.#broke(error),
      onComplete: () => this.#broke(null),
    });
  }

  #broke(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#stream?.unsubscribe();
    this.#setLink("lost");
    if (error !== null && faultOf(error).code === "NOT_SIGNED_IN") {
      this.#options.onSignedOut();
      return;
    }
    const wait = RETRY_MS[Math.min(this.#tries++, RETRY_MS.length - 1)] ?? 10_000;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#open(), wait);
  }

  #setLink(link: LinkState): void {
    this.#options.store.setLink(link);
    this.#tell({ kind: "link", link });
  }

  #hear(relay: Relay): void {
    switch (relay.kind) {
      case "message":
        if (!this.#leads) this.#take(relay.message);
        return;
      case "link":
        if (!this.#leads) this.#options.store.setLink(relay.link);
        return;
      case "joined":
        if (!this.#leads) return;
        this.#joinedAt = Date.now();
        this.#tellAll();
    }
  }

  #take(message: LiveMessage): void {
    this.#options.store.apply(message, Date.now());
    if (message.type === "stale") this.#options.onStale(message.topics);
  }

  #tell(relay: Relay): void {
    if (this.#leads && !this.#hasOthers) return;
    this.#channel?.postMessage(relay);
  }
}
