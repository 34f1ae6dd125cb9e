import { resolve } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import { JANITOR_MODES, type JanitorMode } from "#protocol/wire/upkeep.ts";
import { parseDuration } from "#protocol/wire/read-units.ts";

/** Settings of the hub's scheduled maintenance. */
export interface UpkeepSettings {
  /** Null: no scheduled backups. */
  backupEveryMs: number | null;
  backupKeep: number;
  /** Absolute path. */
  backupFolder: string;
  janitor: JanitorMode;
  janitorEveryMs: number;
  /** How often retention policies are applied and the trash is checked. */
  keepingEveryMs: number;
}

type Variables = Readonly<Record<string, string | undefined>>;

const DAY_MS = 86_400_000;
const SHORTEST_MS = 1_000;
const KEEPING_MS = 600_000;

const textOf = (variables: Variables, name: string): string | null => variables[name]?.trim() || null;

function durationOf(variables: Variables, name: string, usualMs = DAY_MS): number | null {
  const text = textOf(variables, name);
  if (text === null) return usualMs;
  if (text === "off" || text === "0") return null;
  try {
    const ms = parseDuration(text);
    if (ms >= SHORTEST_MS) return ms;
  } catch {
    // The Fault below names the variable.
  }
  throw new Fault("BAD_INPUT", { subject: name, detail: "it looks like 24h, 30m, or off" });
}

/** Reads the interval of backups; null with PostgreSQL, which is backed up with its own tools. */
function backupEveryOf(variables: Variables, isPostgres: boolean): number | null {
  if (!isPostgres) return durationOf(variables, "TIDEMARK_BACKUP_EVERY");
  if (["off", "0"].includes(textOf(variables, "TIDEMARK_BACKUP_EVERY") ?? "off")) return null;
  const detail =
    "the hub makes no backups of PostgreSQL: use pg_dump (docs/postgres.md), and leave this out or say off";
  throw new Fault("BAD_INPUT", { subject: "TIDEMARK_BACKUP_EVERY", detail });
}

/** Reads the settings from the environment. @throws Fault BAD_INPUT, naming the variable */
export function readUpkeepSettings(
  variables: Variables,
  { dataFolder, isPostgres }: { dataFolder: string; isPostgres: boolean },
): UpkeepSettings {
  const keep = textOf(variables, "TIDEMARK_BACKUP_KEEP") ?? "7";
  if (!/^[1-9]\d{0,3}$/.test(keep)) {
    throw new Fault("BAD_INPUT", { subject: "TIDEMARK_BACKUP_KEEP", detail: "it is a number from 1 to 9999" });
  }
  const mode = textOf(variables, "TIDEMARK_JANITOR") ?? "report";
  const janitor = JANITOR_MODES.find((one) => one === mode);
  if (janitor === undefined) {
    throw new Fault("BAD_INPUT", { subject: "TIDEMARK_JANITOR", detail: "it is off, report or delete" });
  }
  return {
    backupEveryMs: backupEveryOf(variables, isPostgres),
    backupKeep: Number(keep),
    backupFolder: resolve(dataFolder, textOf(variables, "TIDEMARK_BACKUP_TO") ?? "backups"),
    janitor,
    janitorEveryMs: durationOf(variables, "TIDEMARK_JANITOR_EVERY") ?? DAY_MS,
    keepingEveryMs: durationOf(variables, "TIDEMARK_KEEPING_EVERY", KEEPING_MS) ?? KEEPING_MS,
  };
}
