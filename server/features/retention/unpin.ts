import type { CheckpointKeeping } from "#protocol/retention/keeping.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { holding, changeRetention } from "./write-retention-record.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/** Removes every pin, also records that could not be read and count as pins. @throws Fault those of `changeRetention` */
export const unpin = (call: Context & { caller: PersonCaller }, { id }: { id: string }): Promise<CheckpointKeeping> =>
  changeRetention(call, { id, action: "checkpoint unpin" }, async () => {
    const ends = await holding(call.hub, id, ["pin", "unread"]);
    return ends.length === 0 ? null : { word: { kind: "end" }, ends };
  });
