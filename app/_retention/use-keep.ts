"use client";
import { useMutation, useMutationState, useQueryClient } from "@tanstack/react-query";
import { sentenceOf } from "#protocol/faults/fault.ts";
import type { CheckpointKeeping } from "#protocol/retention/keeping.ts";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { hub } from "../_hub/queries/client.ts";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { checkpointQuery, runQuery } from "../_hub/queries/queries.ts";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

/**
 * Changes the retention of one checkpoint with optimistic updates. A change is shown on top of the hub's last answer until the
 * checkpoint has been refetched. When the hub refuses, the change vanishes and a toast gives the reason.
 */

type Saying =
  | { verb: "pin" }
  | { verb: "unpin" }
  | { verb: "tag"; tag: string }
  | { verb: "untag"; tag: string }
  | { verb: "note"; text: string };

interface Said {
  id: string;
  run: string;
  saying: Saying;
}

const KEEP = ["keep"] as const;

function ask({ id, saying }: Said): Promise<CheckpointKeeping> {
  switch (saying.verb) {
    case "pin":
      return hub.checkpoints.pin.mutate({ id });
    case "unpin":
      return hub.checkpoints.unpin.mutate({ id });
    case "tag":
      return hub.checkpoints.tag.mutate({ id, tag: saying.tag });
    case "untag":
      return hub.checkpoints.untag.mutate({ id, tag: saying.tag });
    case "note":
      return hub.checkpoints.note.mutate({ id, text: saying.text });
  }
}

/**
 * Returns the retention of a checkpoint after a change. `isSubject` is false for other checkpoints of the run: a tag can only
 * be on one, so tagging removes it from them.
 */
export function keepingAfter(keeping: CheckpointKeeping, { saying }: Said, isSubject: boolean): CheckpointKeeping {
  if (!isSubject) {
    if (saying.verb !== "tag" || !keeping.tags.includes(saying.tag)) return keeping;
    return { ...keeping, tags: keeping.tags.filter((tag) => tag !== saying.tag) };
  }
  switch (saying.verb) {
    case "pin":
      return { ...keeping, isPinned: true };
    case "unpin":
      return { ...keeping, isPinned: false };
    case "tag":
      return keeping.tags.includes(saying.tag) ? keeping : { ...keeping, tags: [...keeping.tags, saying.tag] };
    case "untag":
      return { ...keeping, tags: keeping.tags.filter((tag) => tag !== saying.tag) };
    case "note":
      return { ...keeping, note: saying.text.trim() === "" ? null : saying.text.trim() };
  }
}

type Subject = Pick<CheckpointRow, "id" | "run" | "keeping">;

/** Returns the retention of a checkpoint including pending changes of this person. */
export function useKeeping({ id, run, keeping }: Subject): CheckpointKeeping {
  const pending = useMutationState({
    filters: { mutationKey: KEEP, status: "pending" },
    // The type is safe, because only `useKeep` uses this key.
    select: ({ state }) => state.variables as Said | undefined,
  });
  let shown = keeping;
  for (const said of pending) if (said?.run === run) shown = keepingAfter(shown, said, said.id === id);
  return shown;
}

/** Returns a function that applies a change. Changes of one checkpoint run one after another. */
export function useKeep({ id, run }: Pick<Subject, "id" | "run">): (saying: Saying) => void {
  const client = useQueryClient();
  const { mutate } = useMutation({
    mutationKey: KEEP,
    scope: { id: `keep ${id}` },
    mutationFn: ask,
    onError: (error) => say("lost", visibleText(sentenceOf(faultOf(error)))),
    // Awaited, so that the change counts as pending until the refetch.
    onSettled: async () => {
      void client.invalidateQueries({ queryKey: ["runs"], predicate: ({ queryKey }) => queryKey.length > 2 });
      await Promise.all([
        client.invalidateQueries({ queryKey: runQuery(run).queryKey, exact: true }),
        client.invalidateQueries({ queryKey: checkpointQuery(id).queryKey, exact: true }),
      ]);
    },
  });
  return (saying) => {
    mutate({ id, run, saying });
    // Removing a tag removes its protection at once, so an Undo is offered.
    if (saying.verb === "untag")
      say("quiet", `The tag ${visibleText(saying.tag)} was removed.`, () =>
        mutate({ id, run, saying: { verb: "tag", tag: saying.tag } }),
      );
  };
}
