"use client";
import { useMutation, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { sentenceOf } from "#protocol/fault.ts";
import type { CheckpointKeeping } from "#protocol/keeping.ts";
import type { CheckpointRow, CheckpointView, RunView } from "#protocol/views.ts";
import { hub } from "../_hub/client.ts";
import { faultOf } from "../_hub/fault-of.ts";
import { checkpointQuery, runQuery } from "../_hub/queries.ts";
import { say } from "../_ui/toast.tsx";
import { visibleText } from "../_ui/visible-text.ts";

/** What a person says about one checkpoint. Shown at once; when the hub refuses, it is as it was, and the toast says why. */

export type Saying =
  | { verb: "pin" }
  | { verb: "unpin" }
  | { verb: "tag"; tag: string }
  | { verb: "untag"; tag: string }
  | { verb: "note"; text: string };

type Subject = Pick<CheckpointRow, "id" | "run">;

function ask(id: string, saying: Saying): Promise<CheckpointKeeping> {
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

/** How it stands with a checkpoint after something was said about `id`; a tag leaves every other one. */
export function keepingAfter(keeping: CheckpointKeeping, saying: Saying, isSubject: boolean): CheckpointKeeping {
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

function show(client: QueryClient, { id, run }: Subject, saying: Saying): void {
  const after = <Row extends CheckpointRow>(row: Row): Row => {
    const keeping = keepingAfter(row.keeping, saying, row.id === id);
    return keeping === row.keeping ? row : { ...row, keeping };
  };
  client.setQueryData<RunView>(runQuery(run).queryKey, (view) =>
    view === undefined ? view : { ...view, checkpoints: view.checkpoints.map(after) },
  );
  client.setQueryData<CheckpointView>(checkpointQuery(id).queryKey, (view) =>
    view === undefined ? view : after(view),
  );
}

export function useKeep(subject: Subject): { say: (saying: Saying) => void; busy: boolean } {
  const client = useQueryClient();
  const keys = [runQuery(subject.run).queryKey, checkpointQuery(subject.id).queryKey] as const;
  const mutation = useMutation({
    mutationFn: (saying: Saying) => ask(subject.id, saying),
    onMutate: async (saying) => {
      await Promise.all(keys.map((queryKey) => client.cancelQueries({ queryKey, exact: true })));
      const before = keys.map((key) => [key, client.getQueryData(key)] as const);
      show(client, subject, saying);
      return { before };
    },
    onError: (error, _saying, context) => {
      for (const [key, data] of context?.before ?? []) client.setQueryData(key, data);
      say("lost", visibleText(sentenceOf(faultOf(error))));
    },
    onSettled: () => {
      void client.invalidateQueries({ queryKey: ["runs"] });
      void client.invalidateQueries({ queryKey: ["checkpoints"] });
    },
  });
  return { say: (saying) => mutation.mutate(saying), busy: mutation.isPending };
}
