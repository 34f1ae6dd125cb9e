import type { CheckpointKeeping } from "#protocol/retention/keeping.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { nameOf, changeRetention } from "./write-retention-record.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

type Call = Context & { caller: PersonCaller };

/** Removes a tag from this checkpoint. @throws Fault those of `changeRetention` */
export const untag = (call: Call, input: { id: string; tag: string }): Promise<CheckpointKeeping> => {
  const { id, tag: text } = input;
  const subject = (row: { step: bigint; run: string }) => `${text} on ${nameOf(row)}`;
  return changeRetention(call, { id, action: "checkpoint untag", subject }, async () => {
    const where = { checkpointId: id, kind: "tag", text, endedById: null };
    const ends = (await call.hub.db.keepRecord.findMany({ where })).map((row) => row.id);
    return ends.length === 0 ? null : { word: { kind: "end" }, ends };
  });
};
