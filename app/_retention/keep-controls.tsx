"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { useQueryClient } from "@tanstack/react-query";
import { Pin, Trash2, X } from "lucide-react";
import { useState } from "react";
import { MOST_NOTE_LETTERS, TAG, TAG_WORDS } from "#protocol/retention/keep-limits.ts";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf, wordsOf } from "../_hub/faults/fault-of.ts";
import { useWhyNot } from "../_hub/session/person.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button, IconButton } from "../_ui/controls/button.tsx";
import { Field } from "../_forms/field.tsx";
import { Form } from "../_forms/form.tsx";
import { TextArea, TextInput } from "../_ui/controls/text-input.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { useKeep, useKeeping } from "./use-keep.ts";

interface KeepControlsProps {
  row: CheckpointRow;
  /** Called when the checkpoint was moved to the trash. */
  onGone?: () => void;
}

/** Controls for pin, tags, note and trash of a complete checkpoint. */
export function KeepControls({ row, onGone }: KeepControlsProps) {
  const client = useQueryClient();
  const whyNot = useWhyNot("operator");
  const keep = useKeep(row);
  const trash = useAction(() => hub.checkpoints.trash.mutate({ id: row.id }));
  const { isPinned, tags, note } = useKeeping(row);
  const askAgain = (): void => {
    for (const topic of ["runs", "checkpoints"]) void client.invalidateQueries({ queryKey: [topic] });
  };
  const bringBack = (): void => {
    hub.checkpoints.bringBack
      .mutate({ id: row.id })
      .then(askAgain, (error: unknown) => say("lost", wordsOf(faultOf(error)).says));
  };
  const step = stepWords(row.step);
  return (
    <div className="flex flex-col">
      <div className="flex flex-wrap items-center gap-2 py-1.5">
        <Button
          size="small"
          aria-pressed={isPinned}
          disabled={whyNot !== null}
          title={whyNot ?? undefined}
          onClick={() => keep({ verb: isPinned ? "unpin" : "pin" })}
        >
          <Pin size={13} aria-hidden className={isPinned ? "fill-accent text-accent" : undefined} />
          {isPinned ? "Unpin" : "Pin"}
        </Button>
        <Button
          size="small"
          disabled={whyNot !== null || trash.busy}
          title={whyNot ?? undefined}
          onClick={() =>
            trash.run(undefined, () => {
              askAgain();
              say("safe", `${step[0]?.toUpperCase()}${step.slice(1)} is in the trash.`, bringBack);
              onGone?.();
            })
          }
        >
          <Trash2 size={13} aria-hidden />
          {trash.busy ? "Moving" : "Move to trash"}
        </Button>
      </div>
      {trash.fault !== null && <FaultNote fault={trash.fault} />}
      <TagField key={`tags ${tags.join(" ")}`} tags={tags} whyNot={whyNot} onSay={keep} />
      <NoteField key={`note ${note ?? ""}`} note={note ?? ""} whyNot={whyNot} onSay={keep} />
    </div>
  );
}

interface PartProps {
  whyNot: string | null;
  onSay: ReturnType<typeof useKeep>;
}

function TagField({ tags, whyNot, onSay }: PartProps & { tags: readonly string[] }) {
  const [typed, setTyped] = useState("");
  const tag = typed.trim();
  return (
    <Form
      label="Add a tag"
      errors={{ tag: TAG.test(tag) ? undefined : TAG_WORDS }}
      actions={[]}
      onSubmit={() => {
        onSay({ verb: "tag", tag });
        setTyped("");
      }}
    >
      <Field label="Tags" path="tag" hint="Each tag marks one checkpoint per run; reusing it moves it.">
        {(ids) => (
          <div className="flex flex-wrap items-center gap-2">
            {tags.map((one) => (
              <span key={one} className="inline-flex items-center">
                <Tag tone="safe" kind="plain">
                  {visibleText(one)}
                </Tag>
                <IconButton
                  size="small"
                  label={`Remove the tag ${visibleText(one)}`}
                  disabled={whyNot !== null}
                  onClick={() => onSay({ verb: "untag", tag: one })}
                >
                  <X size={13} aria-hidden />
                </IconButton>
              </span>
            ))}
            <TextInput
              {...ids}
              className="max-w-44"
              value={typed}
              maxLength={32}
              placeholder="best"
              disabled={whyNot !== null}
              onChange={(event) => setTyped(event.target.value)}
            />
            <Button type="submit" size="small" disabled={whyNot !== null} title={whyNot ?? undefined}>
              Add tag
            </Button>
          </div>
        )}
      </Field>
    </Form>
  );
}

function NoteField({ note, whyNot, onSay }: PartProps & { note: string }) {
  const [typed, setTyped] = useState(note);
  return (
    <Field label="Note">
      {(ids) => (
        <div className="flex flex-col items-start gap-2">
          <TextArea
            {...ids}
            rows={3}
            value={typed}
            maxLength={MOST_NOTE_LETTERS}
            disabled={whyNot !== null}
            onChange={(event) => setTyped(event.target.value)}
          />
          <Button
            size="small"
            disabled={whyNot !== null || typed.trim() === note}
            title={whyNot ?? undefined}
            onClick={() => onSay({ verb: "note", text: typed })}
          >
            Save note
          </Button>
        </div>
      )}
    </Field>
  );
}
