"use client";
import type { ProfileView } from "#protocol/wire/profile-views.ts";
import { Field } from "../_forms/field.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { HOUR_MS, type TokenDraft } from "./token-draft.ts";

const VALID = [
  { value: String(HOUR_MS), label: "1 hour" },
  { value: String(24 * HOUR_MS), label: "1 day" },
  { value: String(7 * 24 * HOUR_MS), label: "7 days" },
  { value: String(90 * 24 * HOUR_MS), label: "90 days" },
];

interface TokenFieldsProps {
  draft: TokenDraft;
  /** The chosen profile, or the first one. */
  profileId: string | null;
  profiles: readonly ProfileView[];
  onChange: (part: Partial<TokenDraft>) => void;
}

/** Fields for the bucket, the machines, the runs and the lifetime of a join token. */
export function TokenFields({ draft, profileId, profiles, onChange }: TokenFieldsProps) {
  return (
    <>
      <Field label="Saves into">
        {(ids) => (
          <Select
            {...ids}
            label="Saves into"
            value={profileId}
            onChange={(value) => onChange({ profileId: value })}
            choices={profiles.map((profile) => ({
              value: profile.id,
              label: visibleText(profile.profile.name),
              note: visibleText(`${profile.profile.bucket}/${profile.profile.prefix}`),
            }))}
          />
        )}
      </Field>
      <TextField
        label="Machines"
        hint="How many may enroll with this token."
        path="maxUses"
        required
        inputMode="numeric"
        className="nums sm:max-w-32"
        value={draft.uses}
        onChange={(value) => onChange({ uses: value })}
      />
      <TextField
        label="Runs"
        hint="Which runs these machines may write: llama-*, eval-?. Empty: new ones, and the run that a machine names when it joins, unless machines of another token wrote it."
        path="runs"
        className="font-mono sm:max-w-80"
        value={draft.mayWrite}
        onChange={(mayWrite) => onChange({ mayWrite })}
      />
      <Field label="Valid for">
        {(ids) => (
          <Select
            {...ids}
            label="Valid for"
            value={draft.validMs}
            choices={VALID}
            onChange={(validMs) => onChange({ validMs })}
          />
        )}
      </Field>
    </>
  );
}
