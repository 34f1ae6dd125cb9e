import type { HistoryFound } from "#protocol/wire/upkeep.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import { addFound, readBucket, type HistoryReader } from "./read-bucket.ts";
import { nothingFound } from "./read-run.ts";
import { openDoubt } from "../retention/may-delete.ts";
import { showHistory } from "./show-history.ts";

/** Returns the result as a sentence for people. */
export const foundText = (found: HistoryFound): string =>
  [
    `${found.runs} runs, ${found.checkpoints} checkpoints and ${found.epochs} epochs that the record did not have`,
    ...(found.missing > 0 ? [`${found.missing} checkpoints of the record are not in the bucket any more`] : []),
    ...(found.refused > 0 ? [`${found.refused} objects were refused`] : []),
  ].join("; ");

/**
 * Reads every bucket after a part of the database was lost. Runs once; an interrupted reading continues the next time.
 * @returns the result; null when there is no open doubt, or the reading was stopped @throws Fault those of the stores: then
 * the history counts as not read
 */
export async function settleHistory(
  hub: HistoryReader & Pick<Hub, "live">,
  reading: { isStopped: () => boolean } = { isStopped: () => false },
): Promise<HistoryFound | null> {
  const doubt = await openDoubt(hub);
  if (doubt === null || doubt.listedAt !== null) return null;
  const profiles = await hub.db.profile.findMany({ select: { id: true }, orderBy: { name: "asc" } });
  let found = nothingFound();
  for (const { id } of profiles) {
    if (reading.isStopped()) return null;
    found = addFound(found, await readBucket(hub, id));
    await showHistory(hub);
  }
  const now = hub.now();
  const event = await hub.db.$transaction(async (tx) => {
    await tx.doubt.update({ where: { id: doubt.id }, data: { listedAt: new Date(now), found: JSON.stringify(found) } });
    const text = `The buckets were read after the record was ${doubt.kind}: ${foundText(found)}`;
    return recordEvent(tx, { at: now, kind: "upkeep", work: found.missing > 0 ? "risk" : "safe", text });
  });
  emit(hub, event, ["runs", "checkpoints", "profiles"]);
  return found;
}
