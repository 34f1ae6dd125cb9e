import { mkdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { createFilePlace } from "#prisma/copy/file-place.ts";
import { moveDatabase, type Moved } from "#prisma/copy/move-database.ts";
import type { Place } from "#prisma/copy/place.ts";
import { holdFolder } from "#prisma/hold-folder.ts";
import { timeInName } from "#prisma/upgrade.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { addressOf } from "#server/platform/settings/read-postgres.ts";
import { readSecret } from "#server/platform/settings/read-secret.ts";
import { createSigner } from "#server/signer/answer.ts";
import { DATABASE, LOCK_WAIT_MS, openPlace } from "../open-place.ts";
import { done, toolsOptions, type CommandResult, type Scope } from "./scope.ts";
import { onTaken, settleStored } from "./tools.ts";

/** `hub move`: keeps hubs out of both databases, checks the master key, and has the data moved. */

const refuse = (subject: string, detail: string): Fault => new Fault("BAD_INPUT", { op: "usage", subject, detail });
/** Enough for a command that does one thing after the other. */
const CONNECTIONS = 2;

/** Returns the data folder that a target names by itself or by its database file. @throws Fault BAD_INPUT */
async function folderOf(subject: string, text: string): Promise<string> {
  if (/^(?!file:)[a-z][a-z+]+:/i.test(text)) throw refuse(subject, "it is a postgres:// address or a data folder");
  const path = resolve(text.replace(/^file:(\/\/(?=\/))?/i, ""));
  const stats = await stat(path).catch(() => null);
  if (basename(path) === DATABASE && stats?.isDirectory() !== true) return dirname(path);
  if (stats !== null && !stats.isDirectory())
    throw refuse(subject, `a data folder holds a file ${DATABASE}; this is a file`);
  return path;
}

async function targetOf({ invocation, around, dataFolder }: Scope): Promise<Place> {
  const given = invocation.values.get("to") ?? null;
  const text = given ?? readSecret(around.variables, "TIDEMARK_MOVE_TO");
  const subject = given === null ? "TIDEMARK_MOVE_TO" : "--to";
  if (text === null) throw refuse("--to", "it is missing: a postgres:// address, or a data folder");
  if (!/^postgres(ql)?:/i.test(text)) return createFilePlace(await folderOf(subject, text), DATABASE);
  const url = addressOf(subject, text);
  return openPlace({ dataFolder, postgres: { url, directUrl: url, connections: CONNECTIONS } }, onTaken);
}

/** Locks everything that a hub on either database would lock. Returns what unlocks it. */
async function keepOut(places: readonly Place[], folders: ReadonlySet<string>): Promise<() => Promise<void>> {
  const locks: (() => Promise<void>)[] = [];
  const release = async (): Promise<void> => {
    for (const unlock of locks.toReversed()) await unlock();
  };
  try {
    for (const folder of folders) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      locks.push(await holdFolder(folder, { waitMs: LOCK_WAIT_MS, onTaken }));
    }
    for (const place of places) locks.push(await place.lock());
    return release;
  } catch (error) {
    await release();
    throw error;
  }
}

/** Checks the master key of the old database, and that the folder that the data goes to has the same where the key is a file. */
async function prepare(scope: Scope, to: Place): Promise<void> {
  const tools = toolsOptions(scope);
  await settleStored(tools, [createSigner(tools, { now: tools.now })]);
  if (tools.secret !== null || to.folder === null || to.folder === scope.dataFolder) return;
  const there = createSigner({ ...tools, dataFolder: to.folder }, { now: tools.now });
  await settleStored(tools, [there]).catch((error: unknown) => {
    if (!isFault(error) || !error.code.startsWith("MASTER_KEY_")) throw error;
    throw refuse(
      "--to",
      `the master key is not in ${to.folder}: copy master.key there first, from ${scope.dataFolder}`,
    );
  });
}

function textOf(
  { from, to, tables, keptAt }: Moved,
  { tookMs, isServer }: { tookMs: number; isServer: boolean },
): string[] {
  const rows = tables.reduce((sum, one) => sum + one.rows, 0);
  const start = isServer
    ? "with this address as TIDEMARK_DATABASE_URL"
    : "without TIDEMARK_DATABASE_URL, on this data folder";
  return [
    tables.length === 0
      ? `The interrupted move is complete: the data is in ${to}.`
      : `Moved ${rows} rows of ${tables.length} tables to ${to} in ${formatDuration(tookMs)}; count and hash of each are the same.`,
    `No hub starts on ${from} any more. Remove it when the hub has worked on the new database for a while.`,
    ...(keptAt === null ? [] : [`The older database that was there lies at ${keptAt}.`]),
    `Start the hub ${start}, and with the same master key.`,
  ];
}

/** Moves the data of the hub to another database. @throws Fault, MigrationRefused */
export async function moveCommand(scope: Scope): Promise<CommandResult> {
  const { around, dataFolder, postgres } = scope;
  const to = await targetOf(scope);
  const from = await openPlace({ dataFolder, postgres }, onTaken);
  if (from.name === to.name) throw refuse("--to", "the hub works on this database already");
  const folders = new Set([dataFolder, to.folder ?? dataFolder]);
  const startedAt = performance.now();
  const release = await keepOut([from, to], folders);
  try {
    const now = around.now();
    const moved = await moveDatabase({
      from,
      to,
      now,
      prepare: () => prepare(scope, to),
      keepAs: join(to.folder ?? dataFolder, `hub-${timeInName(now)}-before-move.db`),
      onTable: ({ table, rows }) => {
        if (rows > 0) around.tell(`${table}: ${rows} rows`);
      },
    });
    const tookMs = Math.round(performance.now() - startedAt);
    return done({ ...moved, tookMs }, textOf(moved, { tookMs, isServer: to.folder === null }));
  } finally {
    await release();
  }
}
