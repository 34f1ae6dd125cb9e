import { Fault, toFault } from "#protocol/faults/fault.ts";
import { cutEvenly } from "#storage/s3/plan.ts";
import { newRequestId } from "../../_hub/actions/use-action.ts";
import {
  askedFor,
  countStates,
  isSettled,
  piecesOf,
  type Asked,
  type BatchState,
  type BatchView,
  type FileView,
} from "./batch-view.ts";
import { giveUp } from "../calls.ts";
import type { UploadProgress, UploadTools } from "../engine/upload-file.ts";
import { mayRead, type Chosen, type ChosenFile } from "../file-access.ts";
import type { Kept, KeptBatch, KeptFile } from "./kept.ts";
import { lastName, matchFiles } from "./match-files.ts";
import { runBatch } from "./run-batch.ts";

/**
 * Runs one upload in the tab that owns it. Every state of a file is written to IndexedDB before the next step, so that a page
 * that dies at any moment can resume.
 */

export type BatchAction = "pause" | "resume" | "retry" | "replace" | "cancel" | "forget";

interface Parts {
  batch: KeptBatch;
  files: KeptFile[];
  kept: Kept;
  tools: Omit<UploadTools, "onFault">;
  /** Returns whether the bucket's CORS rule admits this page. Called when a connection failed without any answer. */
  letsIn: (profileId: string) => Promise<boolean>;
  onChange: () => void;
}

const GIVE_UP_AT_ONCE = 50;
/** Window of the rate, in milliseconds. */
const RATE_OVER_MS = 5_000;

/** Checks size and time of a file. @throws Fault SOURCE_CHANGED when they differ from the chosen file */
function requireSame(file: Pick<KeptFile, "path" | "sizeBytes" | "modifiedAt">, found: File): void {
  if (found.size === file.sizeBytes && found.lastModified === file.modifiedAt) return;
  throw new Fault("SOURCE_CHANGED", { op: "read the file", subject: file.path });
}

export class BatchLife {
  readonly #parts: Parts;
  readonly #chosen = new Map<number, File>();
  readonly #progress = new Map<number, UploadProgress>();
  #run: { stop: AbortController; ended: Promise<void> } | null = null;
  #retries = 0;
  #reused = 0;
  #hasAnswered = false;
  /** The files are known, but the browser requires the person's permission to read them again. */
  #needsLeave = false;
  #moved: { at: number; bytes: number }[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get batch(): KeptBatch {
    return this.#parts.batch;
  }

  /** Takes the files chosen in this page, by index. */
  give(files: readonly ChosenFile[]): void {
    for (const [index, { file }] of files.entries()) this.#chosen.set(index, file);
  }

  /** Continues on its own when no permission is needed. */
  async start(): Promise<void> {
    if (!this.batch.isPaused && (await this.#markMissing())) {
      if (await mayRead(this.batch.roots)) this.#go();
      else this.#needsLeave = true;
    }
    this.#parts.onChange();
  }

  async act(action: BatchAction): Promise<void> {
    const { files } = this.#parts;
    switch (action) {
      case "pause":
        await this.#pause();
        break;
      case "resume":
        await this.#resume();
        break;
      case "replace":
      case "retry":
        if (action === "replace") this.batch.ifThere = "replace";
        for (const file of files.filter(({ state }) => state === "failed" || state === "needs-file")) {
          if (file.state === "failed" && file.fault?.code === "ALREADY_EXISTS" && action === "retry") continue;
          // A changed file starts over, because its uploaded parts may belong to the old content.
          if (file.partBytes !== null && file.fault?.code === "SOURCE_CHANGED") await this.#begunAnew(file);
          file.state = "waiting";
          file.fault = null;
        }
        await this.#parts.kept.putFiles(files);
        await this.#resume();
        break;
      case "cancel":
        await this.stop();
        await this.#takeBack();
        break;
      case "forget":
        await this.stop();
    }
    this.#parts.onChange();
  }

  /** Returns the names of files that are still missing. Other files of a folder chosen again are not read. */
  wantedNames(): ReadonlySet<string> {
    return new Set(this.#unsettled().map(({ path }) => lastName(path)));
  }

  /**
   * Takes files that were chosen again and matches them with the missing ones. Returns the paths of files that changed or are
   * absent.
   */
  async giveAgain(chosen: Chosen): Promise<{ changed: string[]; missing: string[] }> {
    const { found, changed, missing } = matchFiles(this.#unsettled(), chosen.files);
    for (const [file, { file: bytes, handle }] of found) {
      this.#chosen.set(file.index, bytes);
      file.handle = handle;
      if (file.state === "needs-file") file.state = "waiting";
    }
    if (found.size > 0) {
      const isAll = changed.length + missing.length === 0;
      this.batch.roots = isAll ? chosen.roots : [...this.batch.roots, ...chosen.roots];
      await this.#parts.kept.putFiles([...found.keys()]);
      await this.#resume();
    }
    this.#parts.onChange();
    const paths = (files: readonly KeptFile[]): string[] => files.map(({ path }) => path);
    return { changed: paths(changed), missing: paths(missing) };
  }

  #unsettled(): KeptFile[] {
    return this.#parts.files.filter(({ state }) => !isSettled(state));
  }

  /**
   * Marks files that this page cannot read since a reload, without a call to the hub. Returns whether the upload can continue.
   */
  async #markMissing(): Promise<boolean> {
    const open = this.#parts.files.filter(({ state }) => state === "waiting" || state === "running");
    const lost = open.filter(({ handle, index }) => handle === null && !this.#chosen.has(index));
    for (const file of lost) file.state = "needs-file";
    if (lost.length > 0) await this.#parts.kept.putFiles(lost);
    return open.length > lost.length || open.length === 0;
  }

  /** Stops the run without changing the upload's state. */
  async stop(): Promise<void> {
    this.#run?.stop.abort();
    await this.#run?.ended;
  }

  async #pause(): Promise<void> {
    this.batch.isPaused = true;
    await this.#parts.kept.putBatch(this.batch);
    await this.stop();
  }

  async #resume(): Promise<void> {
    await this.#run?.ended;
    this.batch.isPaused = false;
    this.batch.fault = null;
    this.#needsLeave = false;
    await this.#parts.kept.putBatch(this.batch);
    if (await this.#markMissing()) this.#go();
  }

  #go(): void {
    if (this.#run !== null) return;
    const stop = new AbortController();
    const { batch, files, kept, tools } = this.#parts;
    const work = runBatch({
      batch,
      files,
      signal: stop.signal,
      tools: { ...tools, put: this.#put, onFault: (fault) => this.#onFault(fault) },
      open: (file) => this.#open(file),
      keep: async (file) => {
        if (file.state !== "running") this.#progress.delete(file.index);
        await kept.putFiles([file]);
        this.#parts.onChange();
      },
      onProgress: (file, progress) => this.#onProgress(file, progress),
    });
    const ended = work
      .catch(async (error: unknown) => {
        const fault = toFault(error);
        if (fault.code === "CANCELLED") return;
        batch.fault = fault.toData();
        batch.isPaused = true;
        await kept.putBatch(batch);
      })
      .finally(() => {
        this.#run = null;
        for (const file of files) if (file.state === "running") file.state = "waiting";
        this.#parts.onChange();
      });
    this.#run = { stop, ended };
  }

  readonly #put: UploadTools["put"] = async (request, body, watch) => {
    const answer = await this.#parts.tools.put(request, body, watch);
    this.#hasAnswered = true;
    return answer;
  };

  async #onFault(fault: Fault): Promise<void> {
    this.#retries++;
    this.#parts.onChange();
    // The browser gives no reason. Only when no answer ever arrived can CORS be the cause.
    if (fault.code !== "LINK_DOWN" || this.#hasAnswered) return;
    const isLetIn = await this.#parts.letsIn(this.batch.profileId).catch(() => true);
    if (!isLetIn) throw new Fault("CORS_MISSING", { op: "upload", subject: this.batch.bucket });
  }

  async #open(file: KeptFile): Promise<File | null> {
    const chosen = this.#chosen.get(file.index);
    if (file.handle === null) {
      if (chosen === undefined) return null;
      requireSame(file, chosen);
      return chosen;
    }
    try {
      const found = await file.handle.getFile();
      requireSame(file, found);
      return found;
    } catch (error) {
      // Moved, deleted, or no longer permitted: the person can choose the file again.
      if (error instanceof DOMException) return chosen ?? null;
      throw error;
    }
  }

  #onProgress(file: KeptFile, progress: UploadProgress): void {
    const before = this.#progress.get(file.index);
    const reused = progress.reused - (before?.reused ?? 0);
    this.#reused += reused;
    const bytes = progress.bytesDone - (before?.bytesDone ?? 0);
    this.#progress.set(file.index, { ...progress });
    this.#noteArrived(file, progress.parts);
    if (reused === 0 && bytes > 0) {
      const at = Date.now();
      this.#moved.push({ at, bytes });
      while ((this.#moved[0]?.at ?? at) < at - RATE_OVER_MS) this.#moved.shift();
    }
    this.#parts.onChange();
  }

  /** Stores the acknowledged bytes, so that a reloaded page shows the progress before it has asked the store. */
  #noteArrived(file: KeptFile, parts: readonly string[]): void {
    const { partBytes, sizeBytes } = file;
    if (parts.length < 2 || partBytes === null) return;
    const doneBytes = cutEvenly(sizeBytes, partBytes).reduce(
      (sum, { partNumber, length }) => sum + (parts[partNumber - 1] === "#" ? length : 0),
      0,
    );
    if (doneBytes <= (file.doneBytes ?? 0)) return;
    file.doneBytes = doneBytes;
    void this.#parts.kept.putFiles([file]).catch(() => undefined);
  }

  async #begunAnew(file: KeptFile): Promise<void> {
    await giveUp([file.id]).catch(() => undefined);
    const found = (await file.handle?.getFile().catch(() => null)) ?? this.#chosen.get(file.index) ?? null;
    file.id = newRequestId();
    file.partBytes = null;
    file.doneBytes = 0;
    if (found === null) return;
    file.sizeBytes = found.size;
    file.modifiedAt = found.lastModified;
  }

  async #takeBack(): Promise<void> {
    const begun = this.#parts.files.filter(({ state, partBytes }) => partBytes !== null && !isSettled(state));
    for (let at = 0; at < begun.length; at += GIVE_UP_AT_ONCE) {
      await giveUp(begun.slice(at, at + GIVE_UP_AT_ONCE).map(({ id }) => id));
    }
  }

  #state(): BatchState {
    const { files } = this.#parts;
    if (this.#run !== null) return this.batch.isPaused ? "paused" : "running";
    if (files.every(({ state }) => isSettled(state) || state === "failed")) return "ended";
    if (this.batch.isPaused) return "paused";
    return "needs-files";
  }

  view(): BatchView {
    const { batch, files, tools } = this.#parts;
    const state = this.#state();
    const since = Date.now() - RATE_OVER_MS;
    const moved = this.#moved.filter(({ at }) => at >= since);
    const span = Math.max(1_000, Date.now() - (moved[0]?.at ?? Date.now()));
    const [first] = files;
    return {
      id: batch.id,
      state,
      profileId: batch.profileId,
      profileName: batch.profileName,
      bucket: batch.bucket,
      prefix: batch.prefix,
      ifThere: batch.ifThere,
      createdAt: batch.createdAt,
      only: files.length === 1 ? (first?.path ?? null) : null,
      files: countStates(files),
      filesTotal: files.length,
      bytesTotal: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      bytesDone: files.reduce((sum, file) => sum + this.#doneOf(file), 0),
      bytesPerSecond: state === "running" ? (moved.reduce((sum, { bytes }) => sum + bytes, 0) / span) * 1000 : 0,
      connections: state === "running" ? tools.gate.running() : 0,
      retries: this.#retries,
      reusedParts: this.#reused,
      pieces: piecesOf(files, (index) => this.#progress.get(index)?.parts ?? null),
      fault: batch.fault,
      asked: state === "needs-files" ? this.#asked() : null,
    };
  }

  #asked(): Asked {
    const lost = this.#parts.files.filter(({ state }) => state === "needs-file");
    const asked = askedFor(lost.length > 0 ? lost : this.#unsettled());
    return this.#needsLeave ? { ...asked, for: "leave" } : asked;
  }

  files(): FileView[] {
    return this.#parts.files.map((file) => ({
      id: file.id,
      path: file.path,
      sizeBytes: file.sizeBytes,
      bytesDone: this.#doneOf(file),
      state: file.state,
      fault: file.fault,
    }));
  }

  #doneOf(file: KeptFile): number {
    return isSettled(file.state) ? file.sizeBytes : (this.#progress.get(file.index)?.bytesDone ?? file.doneBytes ?? 0);
  }
}
