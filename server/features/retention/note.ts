import type { CheckpointKeeping } from "#protocol/retention/keeping.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { holding, changeRetention } from "./write-retention-record.ts";
import { keepingOf } from "#server/core/retention/find-keeping.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/**
 * Sets the note of a checkpoint, in place of the earlier one; an empty text removes it. @throws Fault those of
 * `changeRetention`
 */
export const note = (
  call: Context & { caller: PersonCaller },
  input: { id: string; text: string },
): Promise<CheckpointKeeping> => {
  const { id } = input;
  const text = input.text.trim();
  return changeRetention(call, { id, action: "checkpoint note" }, async () => {
    if (((await keepingOf(call.hub.db, id)).note ?? "") === text) return null;
    const ends = await holding(call.hub, id, ["note"]);
    return { word: text === "" ? { kind: "end" } : { kind: "note", text }, ends };
  });
};
