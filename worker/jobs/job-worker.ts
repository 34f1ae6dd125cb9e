import type { AgentCommand } from "../agent/agent.ts";
import type { Environment } from "../base/environment.ts";
import type { ProgramUser } from "../program/program-user.ts";
import type { Running, Supervision } from "../supervise/supervise.ts";
import type { RestoreMode } from "../supervise/restore-others.ts";
import type { Clock } from "../base/clock.ts";
import type { JobMessages } from "./job-messages.ts";
import type { Slot } from "./slots/slot.ts";
import type { UnreportedEnd } from "./unreported-end.ts";

/** State that all attempts of one `tidemark work` share. */
export interface JobWorker {
  /** Command of the agents that follow each other, with their common state folder and start id. */
  command: AgentCommand & { state: string; bootId: string };
  queue: string;
  /** Folder below which each job has its working folder; absolute. */
  folder: string;
  /** Slot of the machine that this worker serves; null: it has the machine alone. */
  slot: Slot | null;
  /** Called whenever this worker has joined the hub and begins to ask for jobs. */
  onReady(): void;
  /** Folder with the inputs that are kept for jobs, of all slots; absolute. */
  inputsFolder: string;
  /** Largest size of the objects of inputs that are kept for later jobs, bytes; null: as much as the disk has room for. */
  inputCacheBytes: number | null;
  /** Environment of the worker. */
  env: Environment;
  out: Supervision["out"];
  err: Supervision["err"];
  user: ProgramUser | null;
  /** Checkpoints to restore beside the newest one. */
  restoreMode: RestoreMode;
  /** Time between TERM and KILL. */
  graceMs: number;
  mayLower: boolean;
  /** Holds the program of the present attempt. */
  running: Running;
  messages: JobMessages;
  /** End of the last attempt, until the hub has it. */
  unreported: UnreportedEnd;
  /** Counts attempts in a row that this machine, its bucket or its hub kept from running. */
  setbacks: { count: number };
  /** Largest memory of a GPU that programs of this worker see; null: none, or unknown. */
  gpuMemoryBytes: number | null;
  clock: Clock;
}
