import * as z from "zod";
import type { BackupView, JanitorReport, UpkeepView } from "#protocol/wire/upkeep.ts";
import type { UpkeepRun } from "#prisma/client/client.ts";
import { storedFault } from "#server/core/events/event-row.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { doubtView } from "#server/core/retention/may-delete.ts";
import { parseStored, readStored } from "#server/platform/stored-json.ts";

const backupResult = z.object({ file: z.string(), sizeBytes: z.number() });

const newest = (hub: Pick<Hub, "db">, kind: string, profileId?: string) =>
  hub.db.upkeepRun.findFirst({
    where: { kind, ...(profileId === undefined ? {} : { profileId }) },
    orderBy: { id: "desc" },
  });

function backupView(row: UpkeepRun | null): BackupView | null {
  if (row === null) return null;
  const result = readStored(row.result, backupResult);
  return {
    startedAt: row.startedAt.getTime(),
    endedAt: row.endedAt.getTime(),
    fault: storedFault(row.fault),
    file: result?.file ?? null,
    sizeBytes: result?.sizeBytes ?? null,
  };
}

/** Returns when the next scheduled backup is due; null when none is scheduled. */
export async function nextBackupAt(hub: Pick<Hub, "db" | "settings" | "startedAt">): Promise<number | null> {
  const { backupEveryMs } = hub.settings.upkeep;
  if (backupEveryMs === null) return null;
  const last = await newest(hub, "backup");
  // The first backup of a new hub does not wait for a whole interval.
  return last === null ? hub.startedAt + Math.min(backupEveryMs, 300_000) : last.startedAt.getTime() + backupEveryMs;
}

/** Returns the state of backups, leftovers and open doubts for the pages. */
export async function upkeepStatus(hub: Hub): Promise<UpkeepView> {
  const profiles = await hub.db.profile.findMany({ select: { id: true }, orderBy: { name: "asc" } });
  const lastJanitor: JanitorReport[] = [];
  for (const { id } of profiles) {
    const result = (await newest(hub, "janitor", id))?.result ?? null;
    // This hub wrote it and it is only shown, so it is not validated; an unreadable report counts as none.
    const report = result === null ? undefined : parseStored(result);
    if (typeof report === "object" && report !== null) lastJanitor.push(report as JanitorReport);
  }
  const left = ({ objects, uploads, probes, removed }: JanitorReport): number =>
    Math.max(0, objects.bytes + uploads.bytes + probes.bytes - removed.bytes);
  const doubt = await doubtView(hub);
  return {
    lastBackup: backupView(await newest(hub, "backup")),
    nextBackupAt: await nextBackupAt(hub),
    janitorMode: hub.settings.upkeep.janitor,
    isJanitorRunning: hub.upkeep.isJanitorRunning,
    lastJanitor,
    lastJanitorFault: hub.upkeep.janitorFault,
    orphanBytes: lastJanitor.reduce((sum, report) => sum + left(report), 0),
    mayDelete: doubt === null,
    doubt,
  };
}
