import { access, chmod, constants, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { holdFolder } from "#prisma/hold-folder.ts";
import { fileUrl } from "#prisma/file-url.ts";
import { openDatabase, type OpenedDatabase } from "#prisma/open.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { loadAlerts } from "../features/alerts/alert-memory.ts";
import { addDefaultRules } from "../features/alerts/default-rules.ts";
import { startAlerting } from "../features/alerts/keep-alerting.ts";
import { createFirstAccount } from "../core/accounts/auth/create-first-account.ts";
import { createJobBoard } from "../core/live/job-board.ts";
import { createGroupMemory } from "../core/live/group-memory.ts";
import { createJobMemory } from "../core/live/job-memory.ts";
import { startCallingWebhooks } from "../features/jobs/kelpie/call-webhooks.ts";
import { startScalingGroups } from "../features/groups/keep-groups.ts";
import { startBucketJobs } from "../features/bucket-browser/run-jobs.ts";
import { createSetupCode } from "../core/accounts/auth/setup-code.ts";
import { createThrottle } from "#server/platform/throttle.ts";
import { addDuration } from "#protocol/base/exposition.ts";
import { createCounters, type Counters } from "../platform/counters.ts";
import { createFairQueue } from "../platform/fair-queue.ts";
import type { HubSettings } from "../platform/env.ts";
import { createKeyUses } from "#server/core/api/key-uses.ts";
import { startKeepingHistory } from "../core/history/keep-history.ts";
import { openHistory } from "../core/history/open-history.ts";
import type { Hub } from "../core/api/hub.ts";
import type { Signer } from "../signer/messages.ts";
import { createInspector } from "#storage/inspect/inspector.ts";
import { createInspections } from "../core/checkpoints/inspections.ts";
import { createCallerTurns } from "../platform/caller-turns.ts";
import { createKeyedLock } from "../platform/keyed-lock.ts";
import { loadLive } from "../core/live/load.ts";
import { refreshTotals, startTicking } from "./tick.ts";
import type { Log } from "../platform/log.ts";
import { createLoopWatch } from "../platform/loop-watch.ts";
import { createImports } from "../core/profiles/imports.ts";
import { createStores } from "../core/profiles/open-store.ts";
import { createWorkloads } from "../core/nodes/workloads/verify-salad.ts";
import { createReach, type Reach } from "../platform/reach.ts";
import { createUpkeepState } from "../features/maintenance/start-janitor.ts";
import { cutSizes } from "../core/checkpoints/manifest/cut-sizes.ts";
import { createInputReader } from "../core/api/input-reader.ts";
import { checkMasterKey } from "../signer/check-master-key.ts";

/** A hub that ends waits so long for claims under way: less than its launcher waits for it. The next hub gives up the others. */
const LONGEST_CLAIM_MS = 1_500;
/** Places of the inspector: one account gets no more than a third of them. */
const INSPECTING = { atOnce: 6, atOnceEach: 2, waiting: 100, waitingEach: 20 };

export interface HubParts {
  settings: HubSettings;
  signer: Signer;
  log: Log;
  /** Epoch milliseconds. */
  now: () => number;
  /** log2 of scrypt's N. */
  passwordCost: number;
  /** Prints a setup code on the hub's console. */
  printSetupCode: (code: string) => void;
  /** Rules for outgoing connections. Default: those of the settings, with the resolver of this machine. */
  reach?: Reach;
  /** How long to wait for another hub to release the data folder. */
  lockWaitMs: number;
  /** Called when another hub has taken the data folder or the database over: this one must end. Default: logs it. */
  onTaken?: (fault: Fault) => void;
  /** Runs SQL in this thread, which blocks it: tests open hundreds of hubs and save the start of a thread for each. */
  queriesHere?: boolean;
}

export interface OpenedHub {
  hub: Hub;
  /** Ends all open streams with an error that makes their clients reconnect. */
  startClosing: () => void;
  /** Writes pending state to the database and unlocks the data folder. */
  close: () => Promise<void>;
}

const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "");

/** Reasons why a path cannot be the data folder, by the error code of the system. */
const FOLDER_WRONG: Readonly<Record<string, string>> = {
  EEXIST: "a file lies there",
  ENOTDIR: "a file lies on its path",
  ENOENT: "a link on its path leads nowhere",
};

/** Creates the data folder and checks that it is writable. @throws Fault FOLDER_UNWRITABLE */
async function prepareFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (cause) {
    const detail = FOLDER_WRONG[codeOf(cause)];
    throw new Fault("FOLDER_UNWRITABLE", {
      op: "open the data folder",
      subject: folder,
      ...(detail !== undefined && { detail }),
      cause,
    });
  }
}

/** Returns a handler for a database path that is a folder. @throws the error, or Fault HUB_DATABASE_DAMAGED */
const isNoFile =
  (subject: string) =>
  (error: unknown): never => {
    if (codeOf(error) !== "EISDIR") throw error;
    throw new Fault("HUB_DATABASE_DAMAGED", { subject, detail: "it is a folder", cause: error });
  };

interface Stored extends OpenedDatabase {
  /** Where the thread of history finds the database. */
  address: string;
  canWrite: () => boolean;
}

/** Opens the file in the data folder, or PostgreSQL where the settings say so. */
async function openStored(parts: HubParts, counters: Counters): Promise<Stored> {
  const { settings } = parts;
  const onWrite = (tookMs: number) => addDuration(counters.dbWrites, tookMs / 1000);
  if (settings.postgres !== null) {
    // Loaded only here: most hubs run on SQLite, and the second client is as large as the first.
    const { openPostgres } = await import("#prisma/postgres/open.ts");
    const onTaken = (fault: Fault) => (parts.onTaken ?? parts.log.error)(fault);
    const lock = { waitMs: parts.lockWaitMs, onTaken };
    const { room, ...opened } = await openPostgres(settings.postgres, { turns: createCallerTurns, lock, onWrite });
    counters.connections = room;
    return { ...opened, address: settings.postgres.url };
  }
  const file = join(settings.dataFolder, "hub.db");
  // Set before SQLite opens the file, so that its write-ahead log gets the same permissions.
  await (await open(file, "a", 0o600).catch(isNoFile(file))).close();
  await chmod(file, 0o600);
  const address = fileUrl(file);
  const options = { onWrite, inThisThread: parts.queriesHere === true, turns: createCallerTurns() };
  return { ...(await openDatabase(address, options)), address, canWrite: () => true };
}

/**
 * Opens the hub: everything except its HTTP server.
 * @throws Fault FOLDER_UNWRITABLE, FOLDER_IN_USE, DATABASE_IN_USE, DATABASE_UNREACHABLE, MASTER_KEY_MISSING, MASTER_KEY_WRONG, MASTER_KEY_WEAK
 * @throws MigrationRefused
 */
export async function openHub(parts: HubParts): Promise<OpenedHub> {
  const { settings, signer, log, now, passwordCost } = parts;
  await prepareFolder(settings.dataFolder);
  const onTaken = (fault: Fault) => (parts.onTaken ?? parts.log.error)(fault);
  const unlock = await holdFolder(settings.dataFolder, { waitMs: parts.lockWaitMs, onTaken });
  const counters = createCounters();
  const {
    db,
    close: closeDatabase,
    address,
    canWrite,
  } = await openStored(parts, counters).catch(async (error: unknown) => {
    await unlock();
    throw error;
  });
  const { keyVersion, rewrapped } = await checkMasterKey(db, signer, now());
  if (rewrapped > 0)
    log.info({ keyVersion, rewrapped }, "everything is sealed with the new master key; the previous one may go");
  await cutSizes(db);
  await addDefaultRules(db, now());
  const closing = new AbortController();
  const keyUses = createKeyUses(db, now);
  const reach = parts.reach ?? createReach(settings.reach);
  const hub: Hub = {
    settings,
    db,
    canWrite,
    signer,
    log,
    now,
    passwordCost,
    imports: createImports(signer, now),
    keyUses,
    workloads: createWorkloads(settings, { now, reach }),
    stores: createStores(db, signer, { keyUses, reach, counters, now }),
    reach,
    live: await loadLive(db, now()),
    setupCode: createSetupCode({ now, print: parts.printSetupCode }),
    throttle: createThrottle(now),
    alerts: await loadAlerts(db),
    locks: createKeyedLock(),
    upkeep: createUpkeepState(),
    bucketJobs: createJobBoard(),
    jobs: createJobMemory(now()),
    groups: createGroupMemory(),
    inspections: createInspections(),
    inspector: createInspector(),
    inspecting: createFairQueue(INSPECTING),
    inputs: createInputReader(),
    counters,
    loop: createLoopWatch({ counters, log }),
    history: await openHistory(db, { url: address, thread: new URL("./history-thread.ts", import.meta.url) }),
    startedAt: now(),
    closing: closing.signal,
  };
  await refreshTotals(hub);
  if ((await db.user.count()) > 0) hub.setupCode.close();
  else if (settings.firstAdmin !== null) await createFirstAccount(hub, settings.firstAdmin);
  const ticking = startTicking(hub);
  const alerting = startAlerting(hub);
  const keeping = startKeepingHistory(hub);
  const jobs = startBucketJobs(hub);
  const calling = startCallingWebhooks(hub);
  const scaling = startScalingGroups(hub);
  return {
    hub,
    startClosing: () => closing.abort(),
    close: async () => {
      closing.abort();
      await Promise.race([Promise.allSettled(hub.jobs.assigning), sleep(LONGEST_CLAIM_MS, null, { ref: false })]);
      await jobs.stop();
      await calling.stop();
      await scaling.stop();
      await alerting.stop();
      await ticking.stop();
      await keeping.stop();
      counters.lag.disable();
      hub.loop.stop();
      hub.stores.close();
      await hub.inspector.close();
      await hub.inputs.close();
      await hub.history.reader.close();
      await closeDatabase();
      await unlock();
    },
  };
}
