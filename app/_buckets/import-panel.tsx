"use client";
import { useState } from "react";
import { MOST_IMPORT_CHARACTERS, type LintFinding } from "#protocol/wire/profiles.ts";
import type { ImportedDraft, ImportView } from "#protocol/wire/profile-views.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { Field } from "../_forms/field.tsx";
import { TextArea } from "../_ui/controls/text-input.tsx";
import { Mark, type Tone } from "../_ui/indicators/mark.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

interface ImportPanelProps {
  onChoose: (draft: ImportedDraft, key: { handle: string; index: number } | null) => void;
}

/** Reads a pasted configuration, lists the stores found with any doubts, and fills the form with the chosen one. */
export function ImportPanel({ onChoose }: ImportPanelProps) {
  const [text, setText] = useState("");
  const [isOpen, setIsOpen] = useState(false);
  const read = useAction(() => hub.profiles.readImport.mutate({ text }));
  return (
    <details
      className="mb-2 border-b border-line pb-2"
      open={isOpen}
      onToggle={(event) => setIsOpen(event.currentTarget.open)}
    >
      <summary className="w-fit py-1 text-soft hover:text-ink">Import from rclone, AWS files or variables</summary>
      <Field
        label="Text"
        hint="rclone.conf, ~/.aws/credentials and config, AWS_, R2_, B2_ or STORJ_ variables, or a command of rclone. Keys in it are sealed in the hub at once and never come back."
      >
        {(ids) => (
          <TextArea
            {...ids}
            kind="code"
            rows={6}
            value={text}
            maxLength={MOST_IMPORT_CHARACTERS}
            placeholder={"[r2]\ntype = s3\nprovider = Cloudflare\n…"}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      <div className="flex flex-col gap-3 py-1.5 sm:ml-36">
        <Button
          className="self-start"
          disabled={text.trim() === "" || read.busy}
          // The hub holds the keys now, so the page drops the text.
          onClick={() => read.run(undefined, () => setText(""))}
        >
          {read.busy ? "Reading" : "Read"}
        </Button>
        {read.fault !== null && <FaultNote fault={read.fault} />}
        {read.result !== undefined && !read.busy && (
          <Found
            view={read.result}
            onChoose={(draft, key) => {
              // Closed, because the form is below.
              setIsOpen(false);
              onChoose(draft, key);
            }}
          />
        )}
      </div>
    </details>
  );
}

function Found({ view, onChoose }: { view: ImportView; onChoose: ImportPanelProps["onChoose"] }) {
  const { drafts, findings, ignored, handle } = view;
  return (
    <output className="flex flex-col gap-3" aria-label="What was found">
      {drafts.length === 0 && findings.length === 0 && <p className="text-soft">No store was found in this text.</p>}
      {drafts.length > 0 && (
        <ul aria-label="Stores found" className="divide-y divide-line rounded-2 border border-line">
          {drafts.map((draft, index) => (
            <Draft
              key={`${index} ${draft.from}`}
              draft={draft}
              onChoose={() =>
                onChoose(draft, handle === null || draft.accessKeyHint === null ? null : { handle, index })
              }
            />
          ))}
        </ul>
      )}
      {findings.length > 0 && <Findings findings={findings} />}
      {ignored.length > 0 && (
        <ul aria-label="Left aside" className="text-12 text-faint">
          {ignored.map((words) => (
            <li key={words}>{visibleText(words)}</li>
          ))}
        </ul>
      )}
    </output>
  );
}

function Draft({ draft, onChoose }: { draft: ImportedDraft; onChoose: () => void }) {
  const { profile, accessKeyHint, problems } = draft;
  return (
    <li className="flex items-start gap-3 px-3 py-2">
      <div className="min-w-0 flex-1">
        <div className="truncate font-mid">{visibleText(draft.from)}</div>
        <div className="font-mono text-12 text-soft [overflow-wrap:anywhere]">
          {visibleText(profile.endpoint ?? profile.provider)}
          {profile.bucket !== null && <>/{visibleText(profile.bucket)}</>}
          {accessKeyHint !== null && <span className="text-faint"> · key …{visibleText(accessKeyHint)}</span>}
        </div>
        {problems.map((words) => (
          <div key={words} className="text-12 text-risk">
            {visibleText(words)}
          </div>
        ))}
      </div>
      <Button size="small" aria-label={`Use ${visibleText(draft.from)}`} onClick={onChoose}>
        Use
      </Button>
    </li>
  );
}

const TONE: Record<LintFinding["weight"], Tone> = { wrong: "lost", doubtful: "risk", note: "quiet" };

function Findings({ findings }: { findings: readonly LintFinding[] }) {
  return (
    <section className="flex flex-col gap-1">
      <h3 className="text-12 text-soft">About the rclone flags</h3>
      <ul aria-label="About the rclone flags" className="divide-y divide-line rounded-2 border border-line">
        {findings.map((finding) => (
          <li key={`${finding.what} ${finding.why}`} className="flex gap-2.5 px-3 py-1.5">
            <Mark tone={TONE[finding.weight]} className="mt-[5px]" />
            <div className="min-w-0">
              <span className="font-mono text-12 [overflow-wrap:anywhere]">{visibleText(finding.what)}</span>{" "}
              <span className="text-soft">{visibleText(finding.why)}</span>
              <div className="text-12">
                <span className="text-faint">Use: </span>
                <span className="[overflow-wrap:anywhere]">{visibleText(finding.use)}</span>
              </div>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
