import type { CheckpointKeeping } from "#protocol/retention/keeping.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { nameOf, changeRetention } from "./write-retention-record.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

type Call = Context & { caller: PersonCaller };

/**
 * Sets a tag. A tag of another checkpoint of the run moves here: one record ends the old tag and sets the new one.
 * @throws Fault those of `changeRetention`
 */
export const tag = (call: Call, input: { id: string; tag: string }): Promise<CheckpointKeeping> => {
  const { id, tag: text } = input;
  const subject = (row: { step: bigint; run: string }) => `${text} on ${nameOf(row)}`;
  return changeRetention(call, { id, action: "checkpoint tag", subject }, async ({ run }) => {
    const rows = await call.hub.db.keepRecord.findMany({ where: { run, kind: "tag", text, endedById: null } });
    if (rows.length > 0 && rows.every(({ checkpointId }) => checkpointId === id)) return null;
    return { word: { kind: "tag", tag: text }, ends: rows.map((row) => row.id) };
  });
};
