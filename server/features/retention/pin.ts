import type { CheckpointKeeping } from "#protocol/retention/keeping.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { holding, changeRetention } from "./write-retention-record.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/** Pins a checkpoint: until it is unpinned, no policy and no person moves it to the trash. @throws Fault those of `changeRetention` */
export const pin = (call: Context & { caller: PersonCaller }, { id }: { id: string }): Promise<CheckpointKeeping> =>
  changeRetention(call, { id, action: "checkpoint pin" }, async () =>
    (await holding(call.hub, id, ["pin", "unread"])).length > 0 ? null : { word: { kind: "pin" }, ends: [] },
  );
