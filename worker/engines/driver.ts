import type { BenchDirection, EngineName } from "#protocol/benchmarks/engines.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import type { StoreAccess } from "#storage/signing/signing.ts";
import type { Credential } from "#storage/signing/sigv4.ts";

/**
 * A driver makes another program (or a second Tidemark) move one file: it finds the program and its version, and says how
 * it is called. It starts nothing itself; `run-errand` does, within limits. Secrets go into the environment or the stdin of
 * the program and nowhere else: a command line is read by everybody on the machine, and a file outlives its process.
 */
export interface Driver {
  readonly name: EngineName;
  find(where: Where): Promise<Found>;
  command(errand: Errand, found: Present): ToolCommand | Promise<ToolCommand>;
  /** What its exit codes mean, where its documentation says so. */
  readonly exits: Readonly<Record<number, FaultCode>>;
  /** What it says of its failure in words that are made for programs; null when it says nothing. */
  explain?(end: ToolEnd): FaultCode | null;
  /** Bytes that it holds by its settings; null where it says nothing about it. */
  holds(errand: Sizes): number | null;
}

/** Where programs are looked for, and how this program is started again. */
export interface Where {
  /** As PATH has it. */
  searchPath: string;
  /** What of the machine's own environment a program is given: proxies, certificates, Python's paths. */
  passedOn: Readonly<Record<string, string>>;
  /** Tidemark itself: program and first arguments. */
  self: readonly string[];
}

export interface Present {
  program: string;
  /** As it says it itself. */
  version: string;
  where: Where;
}

/** `missing`: why it cannot be had, in a sentence without its full stop. */
export type Found = Present | { missing: string };

export interface Sizes {
  direction: BenchDirection;
  sizeBytes: number;
  partBytes: number;
  connections: number;
}

/** One file to move between `path` and the object `key`. */
export interface Errand extends Sizes {
  access: StoreAccess;
  /** Null for engines that need none. */
  credential: Credential | null;
  /** Where Tidemark has its signatures from when there is no key. */
  hub: HubReach | null;
  /** Storj's access grant, for its own program. */
  grant: string | null;
  /** A signed URL of the object, for what knows nothing of buckets. */
  url: string | null;
  key: string;
  path: string;
  /** An empty folder that lives as long as this errand; the program's home. */
  scratch: string;
}

/** A hub that signs for this node, and its turn in a benchmark there. */
export interface HubReach {
  base: string;
  /** The node's own. */
  credential: string;
  turnId: string;
  /** The hub's clock minus this machine's. */
  aheadMs: number;
}

export interface ToolCommand {
  program: string;
  args: readonly string[];
  /** All of it: nothing else of this process's environment reaches the program. */
  env: Readonly<Record<string, string>>;
  /** Written to its stdin, which is then closed. */
  stdin?: string;
}

/** How a program ended. */
export interface ToolEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Who ended it: itself, a limit, or we because nobody wants it any more. */
  endedBy: "itself" | "time" | "memory" | "cancelled";
  /** From before its start until all of it was gone. */
  wallMs: number;
  /** From before its start until it said that it is loaded (`READY`); null of a command, which says nothing. */
  readyMs: number | null;
  /** Of all its processes together, as seen a few times a second; null where that cannot be seen. */
  peakBytes: number | null;
  /** The end of its stdout. */
  out: string;
  /** The end of all that it wrote, without secrets. */
  log: string;
}

/**
 * What a library says on stdout, as its first line, once it is loaded: from then on it is measured, because whoever uses
 * one has it loaded already. A command is measured from its start, because that is how it is used.
 */
export const READY = `{"ready": true}`;
