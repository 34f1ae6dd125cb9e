import { newRequestId } from "../../_hub/actions/use-action.ts";
import { say } from "../../_ui/feedback/toast.tsx";
import { BatchLife, type BatchAction } from "./batch-life.ts";
import { titleMark, type BatchView, type FileView } from "./batch-view.ts";
import { askCors, finishUpload, listParts, signParts } from "../calls.ts";
import { createGate } from "../engine/gate.ts";
import { waitFor } from "../engine/keep-trying.ts";
import { createSummer } from "../engine/sum-beside.ts";
import type { UploadTools } from "../engine/upload-file.ts";
import { xhrPut } from "../engine/xhr-put.ts";
import { letRead, type Chosen, type ChosenFile } from "../file-access.ts";
import { pickAgain } from "./pick-again.ts";
import { openKept, type Kept, type KeptBatch, type KeptFile } from "./kept.ts";
import { setUnfinished } from "./unfinished.ts";

/**
 * Manages the uploads of this browser. Each is owned by the tab that holds its Web Lock. Other tabs show the owner's state and
 * forward actions to it. When the owner closes or dies, another tab gets the lock and continues.
 */

export interface UploadBatch extends BatchView {
  /** `here` when this tab sends it, `elsewhere` when another tab does. */
  owner: "here" | "elsewhere";
}

/** Owner and target of an upload, and what to do when an object exists already. */
export type Destination = Pick<KeptBatch, "personId" | "profileId" | "profileName" | "bucket" | "prefix" | "ifThere">;

type TabMessage =
  | { kind: "batch"; view: BatchView }
  | { kind: "gone"; batchId: string }
  | { kind: "act"; batchId: string; action: BatchAction }
  | { kind: "who" };

const NAME = "tidemark-browser-transfers";
/** Shortest interval between updates, in milliseconds. */
const SHOW_EVERY_MS = 250;
/** Files written to IndexedDB per transaction: a few milliseconds of the page's time. */
const KEPT_AT_ONCE = 250;
const lockOf = (batchId: string): string => `${NAME}-${batchId}`;

export class UploadManager {
  readonly #personId: string;
  readonly #stop = new AbortController();
  readonly #lives = new Map<string, BatchLife>();
  readonly #elsewhere = new Map<string, BatchView>();
  readonly #releases = new Map<string, () => void>();
  readonly #listeners = new Set<() => void>();
  readonly #summer = createSummer();
  readonly #tools: Omit<UploadTools, "onFault">;
  readonly #channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(NAME);
  #kept: Kept | null = null;
  #shown: readonly UploadBatch[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #mark = "";

  constructor(personId: string) {
    this.#personId = personId;
    let lastMovedAt = 0;
    const gate = createGate(Date.now);
    this.#tools = {
      sign: signParts,
      listParts,
      finish: finishUpload,
      put: xhrPut,
      sum: this.#summer.sum,
      gate: {
        ...gate,
        moved: (bytes) => {
          lastMovedAt = Date.now();
          gate.moved(bytes);
        },
      },
      patience: { now: Date.now, wait: waitFor, random: Math.random, lastMovedAt: () => lastMovedAt },
    };
  }

  async start(): Promise<void> {
    this.#kept = await openKept();
    this.#channel?.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => this.#hear(data));
    window.addEventListener("beforeunload", this.#warn, { signal: this.#stop.signal });
    this.#tell({ kind: "who" });
    for (const batch of await this.#kept.batches(this.#personId)) this.#claim(batch.id);
  }

  stop(): void {
    this.#stop.abort();
    clearTimeout(this.#timer);
    for (const life of this.#lives.values()) void life.stop();
    for (const release of this.#releases.values()) release();
    this.#summer.stop();
    this.#channel?.close();
    this.#kept?.close();
    this.#setTitle("");
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Uploads, newest first. Returns the same array until something changes. */
  readonly batches = (): readonly UploadBatch[] => this.#shown;

  /** Returns the files of an upload; empty in tabs that do not own it. */
  files(batchId: string): FileView[] {
    return this.#lives.get(batchId)?.files() ?? [];
  }

  /** Stores the chosen files as a new upload and starts it. Returns its id. */
  async add(to: Destination, chosen: Chosen): Promise<string> {
    const kept = this.#kept;
    if (kept === null) throw new Error("the uploads of this browser have not started");
    const batch: KeptBatch = {
      ...to,
      id: newRequestId(),
      createdAt: Date.now(),
      isPaused: false,
      fault: null,
      roots: chosen.roots,
    };
    const files = chosen.files.map(({ path, file, handle }, index): KeptFile => ({
      batchId: batch.id,
      index,
      id: newRequestId(),
      key: to.prefix + path,
      path,
      sizeBytes: file.size,
      modifiedAt: file.lastModified,
      handle,
      state: "waiting",
      partBytes: null,
      fault: null,
    }));
    // Files are written in portions, so that thousands of them do not block the page. The upload comes last, so that it is
    // never incomplete in the database.
    for (let at = 0; at < files.length; at += KEPT_AT_ONCE) await kept.putFiles(files.slice(at, at + KEPT_AT_ONCE));
    await kept.putBatch(batch);
    setUnfinished(true);
    this.#claim(batch.id, chosen.files);
    return batch.id;
  }

  /** Carries out an action. Call it while handling a click: the browser may ask the person for permission to read the files. */
  async act(batchId: string, action: BatchAction): Promise<void> {
    const life = this.#lives.get(batchId);
    if (life === undefined) {
      this.#tell({ kind: "act", batchId, action });
      return;
    }
    const isLet = action === "pause" || action === "cancel" || action === "forget" || (await letRead(life.batch.roots));
    // Without permission the page continues to ask for it, and the person can also choose the files again.
    if (!isLet && life.view().asked?.for === "leave") return;
    await life.act(action);
    if (action === "cancel" || action === "forget") await this.#remove(batchId);
  }

  /**
   * Asks for the missing files again; null when the person canceled. Call it while handling a click: pickers need user
   * activation.
   */
  async askAgain(batchId: string): Promise<{ changed: string[]; missing: string[] } | null> {
    const life = this.#lives.get(batchId);
    if (life === undefined) return null;
    const names = life.wantedNames();
    const chosen = await pickAgain(life.view().asked?.pick ?? "files", (name) => names.has(name));
    return chosen.files.length === 0 && chosen.roots.length === 0 ? null : life.giveAgain(chosen);
  }

  #claim(batchId: string, chosen: readonly ChosenFile[] = []): void {
    const held = new Promise<void>((resolve) => this.#releases.set(batchId, resolve));
    const own = async (): Promise<void> => {
      await this.#own(batchId, chosen);
      await held;
    };
    const locks = (navigator as { locks?: LockManager }).locks;
    // Without Web Locks tabs cannot coordinate: each page handles the uploads by itself.
    const owned = locks === undefined ? own() : locks.request(lockOf(batchId), { signal: this.#stop.signal }, own);
    owned.catch(() => undefined);
  }

  async #own(batchId: string, chosen: readonly ChosenFile[]): Promise<void> {
    const kept = this.#kept;
    if (kept === null || this.#stop.signal.aborted) return;
    // Read after the lock is held, because the previous owner may have made progress until then.
    const batch = (await kept.batches(this.#personId)).find(({ id }) => id === batchId);
    if (batch === undefined) {
      this.#elsewhere.delete(batchId);
      this.#change();
      return;
    }
    const life = new BatchLife({
      batch,
      files: await kept.files(batchId),
      kept,
      tools: this.#tools,
      letsIn: async (profileId) => (await askCors(profileId)).isAllowed,
      onChange: () => this.#change(),
    });
    life.give(chosen);
    this.#lives.set(batchId, life);
    this.#elsewhere.delete(batchId);
    await life.start();
    if (life.view().asked !== null) say("risk", "An interrupted upload waits for you. It is shown under Transfers.");
  }

  async #remove(batchId: string): Promise<void> {
    this.#lives.delete(batchId);
    await this.#kept?.remove(batchId);
    this.#releases.get(batchId)?.();
    this.#tell({ kind: "gone", batchId });
    this.#change();
  }

  #hear(message: TabMessage): void {
    switch (message.kind) {
      case "batch":
        if (this.#lives.has(message.view.id)) return;
        if (!this.#releases.has(message.view.id)) this.#claim(message.view.id);
        this.#elsewhere.set(message.view.id, message.view);
        break;
      case "gone":
        this.#elsewhere.delete(message.batchId);
        break;
      case "act":
        if (this.#lives.has(message.batchId)) void this.act(message.batchId, message.action).catch(() => undefined);
        return;
      case "who":
        for (const life of this.#lives.values()) this.#tell({ kind: "batch", view: life.view() });
        return;
    }
    this.#change();
  }

  #tell(message: TabMessage): void {
    if (!this.#stop.signal.aborted) this.#channel?.postMessage(message);
  }

  #change(): void {
    this.#timer ??= setTimeout(() => this.#show(), SHOW_EVERY_MS);
  }

  #show(): void {
    this.#timer = undefined;
    const mine = [...this.#lives.values()].map((life): UploadBatch => ({ ...life.view(), owner: "here" }));
    for (const { owner: _owner, ...view } of mine) this.#tell({ kind: "batch", view });
    const others = [...this.#elsewhere.values()].map((view): UploadBatch => ({ ...view, owner: "elsewhere" }));
    this.#shown = [...mine, ...others].sort((a, b) => b.createdAt - a.createdAt);
    this.#setTitle(titleMark(mine));
    setUnfinished(this.#shown.length > 0);
    for (const listener of this.#listeners) listener();
    // Updates every second, because rates and times change even without events.
    if (mine.some(({ state }) => state === "running")) this.#timer = setTimeout(() => this.#show(), 1_000);
  }

  #setTitle(mark: string): void {
    const { title } = document;
    const bare = title.startsWith(this.#mark) ? title.slice(this.#mark.length) : title;
    this.#mark = mark;
    document.title = mark + bare;
  }

  readonly #warn = (event: BeforeUnloadEvent): void => {
    if ([...this.#lives.values()].some((life) => life.view().state === "running")) event.preventDefault();
  };
}
