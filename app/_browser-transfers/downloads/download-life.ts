import { Fault, toFault, type FaultData } from "#protocol/faults/fault.ts";
import type { FolderFile } from "#protocol/buckets/browser-transfers.ts";
import type { SignedRequest } from "#protocol/wire/operations.ts";
import { askHub } from "../ask-hub.ts";
import { hub } from "../../_hub/queries/client.ts";
import { byteMap } from "../byte-map.ts";
import { askCors } from "../calls.ts";
import { downloadInOrder, downloadToPlaces, keepSigned, type DownloadTools } from "../engine/download-file.ts";
import type { Gate } from "../engine/gate.ts";
import { waitFor } from "../engine/keep-trying.ts";
import { planRanges, type RangeGroup } from "../engine/plan-ranges.ts";
import { writeTar, type TarEntry } from "../engine/write-tar.ts";
import { listWanted, type ListedFiles, type Wanted } from "./list-wanted.ts";
import type { Target } from "./target.ts";

/** Runs one download of this page: a file in parallel ranges, or a folder as one sequential tar archive. */

export interface DownloadView {
  id: string;
  name: string;
  mode: Target["mode"];
  /** True when ranges are written to their positions, because only then can a download resume in the middle. */
  canPause: boolean;
  state: "listing" | "running" | "paused" | "failed" | "done";
  bytesTotal: number;
  bytesDone: number;
  bytesPerSecond: number;
  filesTotal: number;
  filesDone: number;
  /** Names that no request can address, and that the download leaves out. */
  unreadable: readonly string[];
  /** Bytes verified against a recorded checksum. */
  verifiedBytes: number;
  retries: number;
  pieces: string;
  fault: FaultData | null;
  /** Profile of the bucket; null until the files are listed. */
  profileId: string | null;
}

const RATE_OVER_MS = 5_000;

interface Parts {
  id: string;
  wanted: Wanted;
  /** Files that the dialog listed already; null lists them first. */
  listed: ListedFiles | null;
  name: string;
  target: Target;
  gate: Gate;
  onChange: () => void;
}

export class DownloadLife {
  readonly #parts: Parts;
  #files: FolderFile[] = [];
  #unreadable: readonly string[] = [];
  #groups: RangeGroup[] = [];
  readonly #written = new Map<number, string>();
  #state: DownloadView["state"] = "listing";
  #stop = new AbortController();
  #fault: FaultData | null = null;
  #bytesDone = 0;
  #filesDone = 0;
  #verifiedBytes = 0;
  #retries = 0;
  #hasAnswered = false;
  #moved: { at: number; bytes: number }[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get #isFolder(): boolean {
    const { kind } = this.#parts.wanted;
    return kind === "prefix" || kind === "chosen" || kind === "checkpoint";
  }

  async run(): Promise<void> {
    const { wanted, listed, target } = this.#parts;
    this.#stop = new AbortController();
    this.#fault = null;
    try {
      if (this.#files.length === 0) {
        const { files, kept, unreadable } = listed ?? (await listWanted(wanted));
        this.#unreadable = unreadable;
        if (files.length === 0) throw new Fault("NOT_FOUND", { op: "download", detail: "there are no files" });
        this.#files = files;
        if (!this.#isFolder) this.#groups = planRanges(files[0]?.pieces ?? [], kept);
      }
      this.#setState("running");
      if (this.#isFolder) await this.#runFolder();
      else await this.#runFile();
      await target.close();
      this.#filesDone = this.#files.length;
      this.#setState("done");
    } catch (error) {
      const fault = toFault(error);
      if (fault.code === "CANCELLED") return;
      this.#fault = fault.toData();
      this.#setState("failed");
    }
  }

  async #runFile(): Promise<void> {
    const { target } = this.#parts;
    const { signal } = this.#stop;
    const groups = this.#groups;
    const tools = this.#tools();
    if (target.writeAt === null) {
      const reading = downloadInOrder({ groups, signal }, tools);
      await this.#drain(reading);
      return;
    }
    const write = target.writeAt;
    const verdict = await downloadToPlaces({ groups, written: this.#written, write, signal }, tools);
    this.#verifiedBytes = verdict.verifiedBytes;
  }

  async #runFolder(): Promise<void> {
    await this.#parts.target.restart();
    this.#bytesDone = 0;
    this.#filesDone = 0;
    this.#verifiedBytes = 0;
    // The ranges of all files form one read-ahead queue across file boundaries, so that small files do not each wait a round
    // trip.
    const plans = this.#files.map((file) => ({ file, groups: planRanges(file.pieces, null) }));
    const groups = plans.flatMap((plan) => plan.groups);
    const reading = downloadInOrder({ groups, signal: this.#stop.signal }, this.#tools());
    const entries = plans.map(({ file, groups }): TarEntry => {
      const { path, sizeBytes, modifiedAt } = file;
      const ranges = groups.reduce((sum, group) => sum + group.ranges.length, 0);
      return { path, sizeBytes, modifiedAt, bytes: () => this.#takeFile(reading, ranges) };
    });
    try {
      for await (const bytes of writeTar(entries)) await this.#parts.target.write(bytes);
      const last = await reading.next();
      if (last.done === true) this.#verifiedBytes = last.value.verifiedBytes;
    } finally {
      await reading.return({ verifiedBytes: 0 });
    }
  }

  /** Yields the next `ranges` ranges, which belong to one file. */
  async *#takeFile(
    reading: ReturnType<typeof downloadInOrder>,
    ranges: number,
  ): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    for (let left = ranges; left > 0; left--) {
      const next = await reading.next();
      if (next.done === true) throw new Fault("INTERNAL", { op: "download" });
      yield next.value;
    }
    this.#filesDone++;
    this.#parts.onChange();
  }

  async #drain(reading: ReturnType<typeof downloadInOrder>): Promise<void> {
    await this.#parts.target.restart();
    this.#bytesDone = 0;
    for (;;) {
      const next = await reading.next();
      if (next.done === true) {
        this.#verifiedBytes = next.value.verifiedBytes;
        return;
      }
      await this.#parts.target.write(next.value);
    }
  }

  #tools(): DownloadTools {
    const profileId = this.#files[0]?.profileId ?? "";
    let lastMovedAt = 0;
    const sign = async (key: string, etag: string): Promise<SignedRequest> => {
      const objects = [{ key, etag }];
      const [signed] = await askHub(hub.browserTransfers.signReads.mutate({ profileId, objects }));
      if (signed === undefined) throw new Fault("INTERNAL", { op: "sign", subject: key });
      return signed.request;
    };
    return {
      sign: keepSigned(sign),
      fetch: (input, init) => globalThis.fetch(input, init),
      gate: this.#parts.gate,
      patience: { now: Date.now, wait: waitFor, random: Math.random, lastMovedAt: () => lastMovedAt },
      onFault: async (fault) => {
        this.#retries++;
        this.#parts.onChange();
        if (fault.code !== "LINK_DOWN" || this.#hasAnswered) return;
        const isLetIn = await askCors(profileId).then(
          (answer) => answer.isAllowed,
          () => true,
        );
        if (!isLetIn) throw new Fault("CORS_MISSING", { op: "download", subject: this.#parts.name });
      },
      onBytes: (bytes) => {
        lastMovedAt = Date.now();
        this.#hasAnswered = true;
        this.#bytesDone += bytes;
        this.#moved.push({ at: lastMovedAt, bytes });
        while ((this.#moved[0]?.at ?? lastMovedAt) < lastMovedAt - RATE_OVER_MS) this.#moved.shift();
        this.#parts.onChange();
      },
    };
  }

  pause(): void {
    this.#stop.abort();
    this.#setState("paused");
    this.#bytesDone = this.#groups
      .flatMap(({ ranges }) => ranges)
      .reduce((sum, { at, length }) => sum + (this.#written.has(at) ? length : 0), 0);
  }

  async cancel(): Promise<void> {
    this.#stop.abort();
    await this.#parts.target.abort();
  }

  #setState(state: DownloadView["state"]): void {
    this.#state = state;
    this.#parts.onChange();
  }

  /** Returns the piece map: by range when ranges are written to their positions, otherwise by bytes in order. */
  #pieces(): string {
    const isMoving = this.#state === "running";
    const ranges = this.#groups.flatMap((group) => group.ranges);
    if (this.#parts.target.writeAt !== null && ranges.length > 0)
      return byteMap(
        ranges.map(({ at, length }) => ({
          bytes: length,
          doneBytes: this.#written.has(at) ? length : 0,
          isMoving: false,
        })),
      );
    const bytes = this.#files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    return byteMap([{ bytes, doneBytes: this.#bytesDone, isMoving }]);
  }

  view(): DownloadView {
    const { id, name, target } = this.#parts;
    const moved = this.#moved.filter(({ at }) => at >= Date.now() - RATE_OVER_MS);
    const span = Math.max(1_000, Date.now() - (moved[0]?.at ?? Date.now()));
    const isRunning = this.#state === "running";
    return {
      id,
      name,
      mode: target.mode,
      canPause: !this.#isFolder && target.writeAt !== null,
      state: this.#state,
      bytesTotal: this.#files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      bytesDone: this.#bytesDone,
      bytesPerSecond: isRunning ? Math.max(0, (moved.reduce((sum, { bytes }) => sum + bytes, 0) / span) * 1000) : 0,
      filesTotal: this.#files.length,
      filesDone: this.#filesDone,
      unreadable: this.#unreadable,
      verifiedBytes: this.#verifiedBytes,
      retries: this.#retries,
      pieces: this.#state === "done" ? "" : this.#pieces(),
      fault: this.#fault,
      profileId: this.#files[0]?.profileId ?? null,
    };
  }
}
