import type { Database } from "#prisma/open.ts";
import type { SetupCode } from "./ports/setup-code.ts";
import type { AlertMemory } from "./ports/alert-memory.ts";
import type { JobBoard } from "../live/job-board.ts";
import type { JobMemory } from "../live/job-memory.ts";
import type { GroupMemory } from "../live/group-memory.ts";
import type { Throttle } from "#server/platform/throttle.ts";
import type { Counters } from "#server/platform/counters.ts";
import type { HubSettings } from "#server/platform/env.ts";
import type { FairQueue } from "#server/platform/fair-queue.ts";
import type { KeyUses } from "./key-uses.ts";
import type { Inspector } from "#storage/inspect/inspector.ts";
import type { Inspections } from "./ports/inspections.ts";
import type { History } from "./ports/history.ts";
import type { InputReader } from "./input-reader.ts";
import type { Signer } from "#server/signer/messages.ts";
import type { KeyedLock } from "#server/platform/keyed-lock.ts";
import type { Live } from "../live/live.ts";
import type { Log } from "#server/platform/log.ts";
import type { LoopWatch } from "#server/platform/loop-watch.ts";
import type { Imports } from "./ports/imports.ts";
import type { Stores } from "./ports/stores.ts";
import type { Workloads } from "./ports/workloads.ts";
import type { Reach } from "#server/platform/reach.ts";
import type { UpkeepState } from "./ports/upkeep-state.ts";

/**
 * Everything that procedures of the hub work with. Members are interfaces of `platform`, of the memory in `live`, and ports
 * (`ports/`) that other folders and features implement; `http/open-hub` composes them. So nothing here imports a folder that
 * imports this file.
 */
export interface Hub {
  readonly settings: HubSettings;
  readonly db: Database;
  /** False while another hub may have the database: then nothing is written. */
  readonly canWrite: () => boolean;
  readonly signer: Signer;
  readonly stores: Stores;
  readonly imports: Imports;
  /** Decides which addresses the hub may connect to; used for every address that a person entered. */
  readonly reach: Reach;
  readonly live: Live;
  readonly keyUses: KeyUses;
  readonly workloads: Workloads;
  readonly log: Log;
  readonly setupCode: SetupCode;
  readonly throttle: Throttle;
  readonly alerts: AlertMemory;
  readonly locks: KeyedLock;
  readonly counters: Counters;
  readonly loop: LoopWatch;
  readonly upkeep: UpkeepState;
  readonly bucketJobs: JobBoard;
  readonly jobs: JobMemory;
  readonly groups: GroupMemory;
  /** A cache of what was found inside files. */
  readonly inspections: Inspections;
  /** Inspects files, in threads of its own. */
  readonly inspector: Inspector;
  /** The fair queue in which accounts wait for inspections of files. */
  readonly inspecting: FairQueue;
  readonly history: History;
  /** Parses large inputs, in a thread of its own. */
  readonly inputs: InputReader;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** log2 of scrypt's N for new passwords. */
  readonly passwordCost: number;
  readonly startedAt: number;
  /** Aborted when the hub starts to shut down; every open stream then ends. */
  readonly closing: AbortSignal;
}
