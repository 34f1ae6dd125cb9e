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
 * All uploads of this browser, as one tab sees them. Each is owned by the tab that holds its lock; the others show what that
 * one tells and pass on what a person wants of it. When it closes or dies, the lock goes to another tab, which goes on.
 */

export interface DeskBatch extends BatchView {
  /** Whether this tab sends it; another one does otherwise. */
  owner: "here" | "elsewhere";
}

/** Whose files go where, and what is done where something is already. */
export type Destination = Pick<KeptBatch, "personId" | "profileId" | "profileName" | "bucket" | "prefix" | "ifThere">;

type Told =
  | { kind: "batch"; view: BatchView }
  | { kind: "gone"; batchId: string }
  | { kind: "act"; batchId: string; action: BatchAction }
  | { kind: "who" };

const NAME = "tidemark-browser-transfers";
/** Told and drawn at most so often. */
const SHOW_EVERY_MS = 250;
/** Files written down in one go: a few milliseconds of the page. */
const KEPT_AT_ONCE = 250;
const lockOf = (batchId: string): string => `${NAME}-${batchId}`;

export class TransferDesk {
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
  #shown: readonly DeskBatch[] = [];
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
    this.#channel?.addEventListener("message", ({ data }: MessageEvent<Told>) => this.#hear(data));
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

  /** Newest first; the same array until something changed. */
  readonly batches = (): readonly DeskBatch[] => this.#shown;

  /** Known only in the tab that sends them. */
  files(batchId: string): FileView[] {
    return this.#lives.get(batchId)?.files() ?? [];
  }

  /** Takes on what was chosen, and begins. Returns the id of the upload. */
  async add(to: Destination, chosen: Chosen): Promise<string> {
    const kept = this.#kept;
    if (kept === null) throw new Error("the desk has not started");
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
    // A page at a time, so that thousands of them hold nothing up; the upload itself last, so that it is there whole or not.
    for (let at = 0; at < files.length; at += KEPT_AT_ONCE) await kept.putFiles(files.slice(at, at + KEPT_AT_ONCE));
    await kept.putBatch(batch);
    setUnfinished(true);
    this.#claim(batch.id, chosen.files);
    return batch.id;
  }

  /** While a click is being answered: the browser may ask the person for leave to read the files. */
  async act(batchId: string, action: BatchAction): Promise<void> {
    const life = this.#lives.get(batchId);
    if (life === undefined) {
      this.#tell({ kind: "act", batchId, action });
      return;
    }
    const isLet = action === "pause" || action === "cancel" || action === "forget" || (await letRead(life.batch.roots));
    // Not let: it goes on asking, and the files can be chosen again instead.
    if (!isLet && life.view().asked?.for === "leave") return;
    await life.act(action);
    if (action === "cancel" || action === "forget") await this.#remove(batchId);
  }

  /** Asks for what is missing once more, while a click is being answered; null where the person thought better of it. */
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
    // Without locks there is nothing to tell tabs apart by: each page is then alone with what it began.
    const owned = locks === undefined ? own() : locks.request(lockOf(batchId), { signal: this.#stop.signal }, own);
    owned.catch(() => undefined);
  }

  async #own(batchId: string, chosen: readonly ChosenFile[]): Promise<void> {
    const kept = this.#kept;
    if (kept === null || this.#stop.signal.aborted) return;
    // Read now, not before the lock came: whoever had it may have gone on.
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

  #hear(told: Told): void {
    switch (told.kind) {
      case "batch":
        if (this.#lives.has(told.view.id)) return;
        if (!this.#releases.has(told.view.id)) this.#claim(told.view.id);
        this.#elsewhere.set(told.view.id, told.view);
        break;
      case "gone":
        this.#elsewhere.delete(told.batchId);
        break;
      case "act":
        if (this.#lives.has(told.batchId)) void this.act(told.batchId, told.action).catch(() => undefined);
        return;
      case "who":
        for (const life of this.#lives.values()) this.#tell({ kind: "batch", view: life.view() });
        return;
    }
    this.#change();
  }

  #tell(told: Told): void {
    if (!this.#stop.signal.aborted) this.#channel?.postMessage(told);
  }

  #change(): void {
    this.#timer ??= setTimeout(() => this.#show(), SHOW_EVERY_MS);
  }

  #show(): void {
    this.#timer = undefined;
    const mine = [...this.#lives.values()].map((life): DeskBatch => ({ ...life.view(), owner: "here" }));
    for (const { owner: _owner, ...view } of mine) this.#tell({ kind: "batch", view });
    const others = [...this.#elsewhere.values()].map((view): DeskBatch => ({ ...view, owner: "elsewhere" }));
    this.#shown = [...mine, ...others].sort((a, b) => b.createdAt - a.createdAt);
    this.#setTitle(titleMark(mine));
    setUnfinished(this.#shown.length > 0);
    for (const listener of this.#listeners) listener();
    // Rates fall and times run also while nothing is told.
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
