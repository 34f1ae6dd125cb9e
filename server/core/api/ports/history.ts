import type { RegionRule } from "#protocol/history/history.ts";
import type { LinkDirection } from "#protocol/wire/transfer.ts";
import type { Answers, Question } from "./history-questions.ts";

/** What the hub keeps in memory of its history. */
export interface History {
  readonly places: Places;
  readonly reader: HistoryReader;
  readonly rates: RateMemory;
  /** The operator's word on where nodes are. */
  rules: readonly RegionRule[];
}

/** The thread that reads history, as the hub sees it. It starts with the first question, if not before. */
export interface HistoryReader {
  /** @throws Fault INTERNAL when it could not be read, SHUTTING_DOWN */
  ask<T extends Question>(question: T): Promise<Answers[T["op"]]>;
  /** Starts the thread before anybody waits for it. */
  start(): void;
  /** Waits for what was asked. */
  close(): Promise<void>;
}

/** A node, where it is, where its bytes go, and what moves them. */
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
  /** Reads numbers that were made since. Nodes by their numbers are for those who called it. */
  refresh(): Promise<void>;
  nodeIdOf(number: number): string | null;
  numberOf(nodeId: string): number | null;
  known(place: Place): Numbered | null;
  /** Of a series of a node that was there at the start. */
  profileOf(seriesId: number): string | null;
  /** Remembers what is committed. */
  keep(place: Place, numbered: Numbered): void;
}

/** What the last transfers and the last probe of each node and bucket reached, so that nobody has to read history for it. */
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
