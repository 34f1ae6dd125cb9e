import { access, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { holdFolder } from "#prisma/hold-folder.ts";
import { fileUrl } from "#prisma/file-url.ts";
import { openBeside, openDatabase, type Database, type OpenedDatabase } from "#prisma/open.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { checkMasterKey } from "#server/signer/check-master-key.ts";
import { createKeyUses } from "#server/core/api/key-uses.ts";
import { createSigner } from "#server/signer/answer.ts";
import type { Signer } from "#server/signer/messages.ts";
import { cutSizes } from "#server/core/checkpoints/manifest/cut-sizes.ts";
import type { LockOptions } from "#prisma/postgres/lock-database.ts";
import { FAULTS } from "#protocol/faults/fault-table.ts";
import { createCallerTurns } from "#server/platform/caller-turns.ts";
import type { PostgresSettings } from "#server/platform/settings/read-postgres.ts";
import { createKeyedLock, type KeyedLock } from "#server/platform/keyed-lock.ts";
import { Live } from "#server/core/live/live.ts";
import { createStores } from "#server/core/profiles/open-store.ts";
import type { Reach } from "#server/platform/reach.ts";
import { DATABASE, LOCK_WAIT_MS } from "../open-place.ts";
import type { Stores } from "#server/core/api/ports/stores.ts";

/**
 * Tools of a command of the hub: the database, and the buckets through a signer in this process. A command renders
 * nothing and reads no untrusted request, so it may hold the master key itself.
 */
export interface Tools {
  db: Database;
  signer: Signer;
  stores: Stores;
  locks: KeyedLock;
  /** Unused state: a command has no connected browsers or nodes. */
  live: Live;
  now: () => number;
  dataFolder: string;
  /** Rules for the addresses at which stores may be. */
  reach: Reach;
  /** Number of secrets that were sealed again when the tools were opened, because the master key had been replaced. */
  rewrapped: number;
  close: () => Promise<void>;
}

export interface ToolsOptions {
  dataFolder: string;
  /** PostgreSQL in place of the file in the data folder; null: the file. */
  postgres: PostgresSettings | null;
  /** The text of TIDEMARK_SECRET; null: the key file. */
  secret: string | null;
  /** The text of TIDEMARK_SECRET_PREVIOUS; null: its key file, where there is one. */
  previous: string | null;
  reach: Reach;
  now: () => number;
  /** Changes the data folder once it is locked, before the master key is read. */
  prepare?: () => Promise<void>;
}

function assemble(options: ToolsOptions, db: Database, close: () => Promise<void>): Tools {
  const { reach, now } = options;
  const signer = createSigner(options, { now });
  const keyUses = createKeyUses(db, now);
  const stores = createStores(db, signer, { keyUses, reach, counters: { storeCalls: new Map() }, now });
  return {
    db,
    signer,
    stores,
    locks: createKeyedLock(),
    live: new Live(),
    now,
    reach,
    rewrapped: 0,
    dataFolder: options.dataFolder,
    close: async () => {
      stores.close();
      await keyUses.flush();
      await close();
    },
  };
}

/**
 * Opens the data of a hub that may be running. The master key is not read yet.
 * @throws Fault NOT_FOUND; MigrationRefused
 */
export async function openToolsBeside(options: ToolsOptions): Promise<Tools> {
  if (options.postgres !== null) {
    const { openPostgresBeside } = await import("#prisma/postgres/open.ts");
    const { db, close } = await openPostgresBeside(options.postgres, createCallerTurns);
    return assemble(options, db, close);
  }
  const file = join(options.dataFolder, DATABASE);
  await access(file).catch(() => {
    throw new Fault("NOT_FOUND", { subject: file, detail: "there is no hub's database there" });
  });
  const { db, close } = await openBeside(file);
  return assemble(options, db, close);
}

/** Ends a command when a hub began beside it: the two would change the same rows. */
export function onTaken(fault: Fault): never {
  process.stderr.write(`${fault.message}\n`);
  process.exit(FAULTS[fault.code].exit);
}

async function openUnlocked({ postgres, dataFolder }: ToolsOptions, lock: LockOptions | null): Promise<OpenedDatabase> {
  if (postgres === null) return openDatabase(fileUrl(join(dataFolder, DATABASE)), { inThisThread: true });
  const { openPostgres } = await import("#prisma/postgres/open.ts");
  return openPostgres(postgres, { turns: createCallerTurns, lock });
}

/**
 * Brings the data of a hub to the present schema, mends numbers that no client reads, and checks the master key. The caller keeps
 * hubs out.
 * @throws Fault MASTER_KEY_MISSING, MASTER_KEY_WRONG, MASTER_KEY_WEAK, DATABASE_MOVED; MigrationRefused
 */
export async function settleStored(
  options: ToolsOptions,
  signers: readonly Pick<Signer, "open" | "rewrap">[],
): Promise<void> {
  const { db, close } = await openUnlocked(options, null);
  try {
    await cutSizes(db);
    for (const signer of signers) await checkMasterKey(db, signer, options.now());
  } finally {
    await close();
  }
}

/**
 * Opens the data while no hub runs; creates the database if there is none. Checks the master key, or creates it.
 * @throws Fault FOLDER_IN_USE, DATABASE_IN_USE, MASTER_KEY_MISSING, MASTER_KEY_WRONG, MASTER_KEY_WEAK; MigrationRefused
 */
export async function openToolsAlone(options: ToolsOptions): Promise<Tools> {
  await mkdir(options.dataFolder, { recursive: true, mode: 0o700 });
  const unlock = await holdFolder(options.dataFolder, { waitMs: LOCK_WAIT_MS, onTaken });
  try {
    const { db, close } = await openUnlocked(options, { waitMs: LOCK_WAIT_MS, onTaken });
    const tools = assemble(options, db, async () => {
      await close();
      await unlock();
    });
    try {
      await options.prepare?.();
      const { rewrapped } = await checkMasterKey(db, tools.signer, options.now());
      return { ...tools, rewrapped };
    } catch (error) {
      await tools.close();
      throw error;
    }
  } catch (error) {
    await unlock().catch(() => undefined);
    throw error;
  }
}
