import { Fault } from "#protocol/faults/fault.ts";
import type { UpkeepView } from "#protocol/wire/upkeep.ts";
import type { EventRow } from "#protocol/wire/views.ts";
import type { Database } from "#prisma/open.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { openDoubt } from "#server/core/retention/may-delete.ts";
import { upkeepStatus } from "./status.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Records that a person declared the database complete again, which allows deletions. Returns null when nothing was in doubt.
 * @throws Fault HISTORY_UNREAD while the buckets are not listed yet
 */
async function confirm(hub: { db: Database; now: () => number }, by: string): Promise<EventRow | null> {
  const doubt = await openDoubt(hub);
  if (doubt === null) return null;
  if (doubt.listedAt === null) throw new Fault("HISTORY_UNREAD", { op: "confirm deletions" });
  const now = hub.now();
  const at = new Date(now);
  return hub.db.$transaction(async (tx) => {
    await tx.doubt.updateMany({
      where: { confirmedAt: null, listedAt: { not: null } },
      data: { confirmedAt: at, confirmedBy: by },
    });
    await tx.audit.create({ data: { at, actor: by, action: "confirm deletions", subject: doubt.kind } });
    const text = `${by} confirmed that the record is whole: deletions are allowed again`;
    return recordEvent(tx, { at: now, kind: "upkeep", work: "safe", text });
  });
}

/** Confirms for a signed-in admin and returns the new status. @throws Fault HISTORY_UNREAD */
export async function confirmDeletions({ hub, caller }: Context & { caller: PersonCaller }): Promise<UpkeepView> {
  emit(hub, await confirm(hub, caller.person.email));
  return upkeepStatus(hub);
}

/** Confirms from the command line. Returns whether anything was in doubt. @throws Fault HISTORY_UNREAD */
export const confirmAtConsole = async (tools: { db: Database; now: () => number }): Promise<boolean> =>
  (await confirm(tools, "command line")) !== null;
