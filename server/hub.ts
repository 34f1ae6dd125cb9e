import type { Database } from "#prisma/open.ts";
import type { SetupCode } from "./auth/setup-code.ts";
import type { Throttle } from "./auth/throttle.ts";
import type { Counters } from "./counters.ts";
import type { HubSettings } from "./env.ts";
import type { History } from "./history/open-history.ts";
import type { Keeper } from "./keeper/messages.ts";
import type { KeyedLock } from "./keyed-lock.ts";
import type { Live } from "./live/live.ts";
import type { Log } from "./log.ts";
import type { Stores } from "./profiles/open-store.ts";

/** What every verb of the hub works with. */
export interface Hub {
  readonly settings: HubSettings;
  readonly db: Database;
  readonly keeper: Keeper;
  readonly stores: Stores;
  readonly live: Live;
  readonly log: Log;
  readonly setupCode: SetupCode;
  readonly throttle: Throttle;
  readonly locks: KeyedLock;
  readonly counters: Counters;
  readonly history: History;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** log2 of scrypt's N for new passwords. */
  readonly passwordCost: number;
  readonly startedAt: number;
  /** Aborted when the hub starts to end: every open stream ends then. */
  readonly closing: AbortSignal;
}
