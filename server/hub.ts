import type { Database } from "#prisma/open.ts";
import type { SetupCode } from "./auth/setup-code.ts";
import type { AlertMemory } from "./alerts/alert-memory.ts";
import type { JobBoard } from "./bucket/job-board.ts";
import type { Throttle } from "./auth/throttle.ts";
import type { Counters } from "./counters.ts";
import type { HubSettings } from "./env.ts";
import type { FairQueue } from "./fair-queue.ts";
import type { KeyUses } from "./events/key-uses.ts";
import type { Inspector } from "#storage/inspect/inspector.ts";
import type { Inspections } from "./inspect/inspections.ts";
import type { History } from "./history/open-history.ts";
import type { InputReader } from "./hub/input-reader.ts";
import type { Keeper } from "./keeper/messages.ts";
import type { KeyedLock } from "./keyed-lock.ts";
import type { Live } from "./live/live.ts";
import type { Log } from "./log.ts";
import type { LoopWatch } from "./loop-watch.ts";
import type { Imports } from "./profiles/imports.ts";
import type { Stores } from "./profiles/open-store.ts";
import type { Workloads } from "./workloads/verify-salad.ts";
import type { Reach } from "./profiles/reach.ts";
import type { UpkeepState } from "./upkeep/start-janitor.ts";

/** What every verb of the hub works with. */
export interface Hub {
  readonly settings: HubSettings;
  readonly db: Database;
  readonly keeper: Keeper;
  readonly stores: Stores;
  readonly imports: Imports;
  /** Where the hub may connect to: for everything that goes to an address somebody entered. */
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
  /** What was found inside files, kept for a while. */
  readonly inspections: Inspections;
  /** Looks inside files, in threads of their own. */
  readonly inspector: Inspector;
  /** In which accounts take turns to have files looked into. */
  readonly inspecting: FairQueue;
  readonly history: History;
  /** Reads large inputs, in a thread of its own. */
  readonly inputs: InputReader;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** log2 of scrypt's N for new passwords. */
  readonly passwordCost: number;
  readonly startedAt: number;
  /** Aborted when the hub starts to end: every open stream ends then. */
  readonly closing: AbortSignal;
}
