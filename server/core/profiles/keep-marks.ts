import { setTimeout as sleep } from "node:timers/promises";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { toFault } from "#protocol/faults/fault.ts";
import type { Hub } from "../api/hub.ts";
import type { OpenStore } from "../api/ports/stores.ts";
import { removeMark, repairMark } from "./mark-prefix.ts";

/**
 * Keeps the mark of this hub under the prefix of every bucket profile, so that no node works there without it. A mark may be
 * missing because the profile is new, because somebody removed the object, or because the store was away.
 */

type KeepingMarks = Pick<Hub, "db" | "settings" | "now" | "stores" | "log">;

const LANES = 4;
/** A removed profile does not wait longer than this for its store. */
const REMOVAL_MS = 5_000;

/** Repairs the marks of all profiles. `refused`: the profiles whose failure was logged already. No faults. */
export async function keepMarks(hub: KeepingMarks, refused: Set<string>): Promise<void> {
  const profiles = await hub.db.profile.findMany({ select: { id: true, name: true } });
  await forEachOf(profiles, LANES, async ({ id, name }) => {
    try {
      await repairMark(hub, await hub.stores.open(id));
      refused.delete(id);
    } catch (error) {
      // Keys that only read cannot mark a prefix, nor can a hub write there.
      if (!refused.has(id)) hub.log.warn({ error: toFault(error), profile: name }, "the prefix could not be marked");
      refused.add(id);
    }
  });
}

/** Removes the mark of a place that no profile names any more. Best effort: the sentence of a refused node tells how to remove it. */
export async function leavePlace(hub: KeepingMarks, store: OpenStore): Promise<void> {
  const { access, prefix } = store;
  const others = await hub.db.profile.count({ where: { bucket: access.bucket, prefix, endpoint: access.endpoint } });
  if (others > 0) return;
  const removing = removeMark(hub, store).catch((error: unknown) =>
    hub.log.warn({ error: toFault(error), profile: store.profileName }, "the mark of the prefix was not removed"),
  );
  await Promise.race([removing, sleep(REMOVAL_MS, undefined, { ref: false })]);
}
