import type { BenchDirection, EngineName } from "#protocol/benchmarks/engines.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import type { StoreAccess } from "#storage/signing/signing.ts";
import type { Credential } from "#storage/signing/sigv4.ts";

/**
 * Describes how another program (or a second Tidemark) moves one file: how to find the program and its version, and how to
 * call it. A driver starts nothing; `run-transfer` does, within limits. Secrets go only into the program's environment or
 * stdin: every user of the machine can read a command line, and a file outlives its process.
 */
export interface Driver {
  readonly name: EngineName;
  find(where: Where): Promise<Found>;
  command(task: TransferTask, found: Present): ToolCommand | Promise<ToolCommand>;
  /** Fault codes of its exit codes, as far as its documentation defines them. */
  readonly exits: Readonly<Record<number, FaultCode>>;
  /** Returns the Fault code that its machine-readable output tells; null when it tells none. */
  explain?(end: ToolEnd): FaultCode | null;
  /** Returns the bytes that it buffers according to its settings; null where its documentation does not say. */
  holds(task: Sizes): number | null;
}

/** How programs are found on this machine, and how this program starts itself again. */
export interface Where {
  /** In the form of PATH. */
  searchPath: string;
  /** Variables of this process that a program gets: proxies, certificates, Python's paths. */
  passedOn: Readonly<Record<string, string>>;
  /** Command that starts Tidemark: program and first arguments. */
  self: readonly string[];
}

export interface Present {
  program: string;
  /** As the program itself prints it. */
  version: string;
  where: Where;
}

/** A program that was found, or why it is `missing`: a sentence without its full stop. */
export type Found = Present | { missing: string };

export interface Sizes {
  direction: BenchDirection;
  sizeBytes: number;
  partBytes: number;
  connections: number;
}

/** One file to move between `path` and the object `key`. */
export interface TransferTask extends Sizes {
  access: StoreAccess;
  /** Null when the engine needs no key. */
  credential: Credential | null;
  /** Hub that signs Tidemark's requests when there is no key. */
  hub: HubReach | null;
  /** Storj access grant, for the program uplink. */
  grant: string | null;
  /** Presigned URL of the object, for programs that do not speak S3. */
  url: string | null;
  key: string;
  path: string;
  /** An empty folder that lives as long as this task; the program's home. */
  scratch: string;
}

/** A hub that signs for this node, and the node's turn in a benchmark of the hub. */
export interface HubReach {
  base: string;
  /** Bearer credential of the node. */
  credential: string;
  turnId: string;
  /** The hub's clock minus this machine's. */
  aheadMs: number;
}

export interface ToolCommand {
  program: string;
  args: readonly string[];
  /** Complete environment: the program inherits no other variable. */
  env: Readonly<Record<string, string>>;
  /** Written to its stdin, which is then closed. */
  stdin?: string;
}

/** How a program ended. */
export interface ToolEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Cause of the end: its own exit, a limit, or a cancellation. */
  endedBy: "itself" | "time" | "memory" | "cancelled";
  /** From before its start until all of its processes had ended. */
  wallMs: number;
  /** From before its start until it wrote `READY`; null for a command, which does not write it. */
  readyMs: number | null;
  /** Resident memory of all its processes together, sampled a few times a second; null where the system does not tell. */
  peakBytes: number | null;
  /** The end of its stdout. */
  out: string;
  /** The end of stdout and stderr, without secrets. */
  log: string;
}

/**
 * First line that a library's process writes to stdout once the library is loaded. Its measurement starts there, because a
 * program that uses the library has loaded it already. A command is measured from its start, as it is used.
 */
export const READY = `{"ready": true}`;
