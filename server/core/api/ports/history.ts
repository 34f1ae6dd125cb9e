import type { RegionRule } from "#protocol/history/history.ts";
import type { LinkDirection } from "#protocol/wire/transfer.ts";
import type { Answers, Question } from "./history-questions.ts";

/** The hub's access to history, with what is kept in memory. */
export interface History {
  readonly places: Places;
  readonly reader: HistoryReader;
  readonly rates: RateMemory;
  /** The operator's rules for the regions of nodes. */
  rules: readonly RegionRule[];
}

/** The hub's side of the thread that reads history. The thread starts with the first question, if not before. */
export interface HistoryReader {
  /** Answers a question. @throws Fault INTERNAL when history could not be read, SHUTTING_DOWN */
  ask<T extends Question>(question: T): Promise<Answers[T["op"]]>;
  /** Starts the thread ahead of the first question. */
  start(): void;
  /** Waits for open questions, then ends the thread. */
  close(): Promise<void>;
}

/** The key of a series: node and its region, bucket, and engine. */
export interface Place {
  nodeId: string;
  profileId: string;
  provider: string;
  bucketRegion: string;
  nodeRegion: string;
  engine: string;
}

export interface Numbered {
  node: number;
  seriesId: number;
  wholeId: number;
}

export interface Places {
  /** Reads numbers of nodes created since the last call. Call it before `nodeIdOf` and `numberOf`. */
  refresh(): Promise<void>;
  nodeIdOf(number: number): string | null;
  numberOf(nodeId: string): number | null;
  known(place: Place): Numbered | null;
  /** Returns the profile of a series; null for one created since the hub started. */
  profileOf(seriesId: number): string | null;
  /** Caches numbers; only after their commit. */
  keep(place: Place, numbered: Numbered): void;
}

/** Rates of the last transfers and the last probe per node and bucket, kept in memory so that planning needs no query. */
export interface RateMemory {
  /** Effective rates of the last transfers, oldest first. */
  transfers(about: Way): readonly number[];
  probe(about: Way): number | null;
  addTransfer(about: Way, bytesPerSecond: number): void;
  setProbe(about: Way, bytesPerSecond: number): void;
}

export interface Way {
  nodeId: string;
  profileId: string;
  direction: LinkDirection;
}
