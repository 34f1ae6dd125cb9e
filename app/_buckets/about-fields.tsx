"use client";
import type { PresetView } from "#protocol/wire/profile-views.ts";
import { Field } from "../_forms/field.tsx";
import { TextArea } from "../_ui/controls/text-input.tsx";
import { TextField } from "../_forms/text-field.tsx";
import type { FieldErrors, ProfileForm } from "./profile-draft.ts";

interface AboutFieldsProps {
  form: ProfileForm;
  errors: FieldErrors;
  preset: PresetView | undefined;
  set: (part: Partial<ProfileForm>) => void;
}

const PRICES = [
  { name: "egressPerGb", label: "Egress per GB", listed: "egressPerGb" },
  { name: "storagePerGbMonth", label: "Storage per GB and month", listed: "storagePerGbMonth" },
  { name: "per1000Requests", label: "Per 1,000 requests", listed: "writesPer1000" },
] as const;

/** Fields for notes on a bucket, and for prices that differ from the provider's list. */
export function AboutFields({ form, errors, preset, set }: AboutFieldsProps) {
  const wrong = PRICES.some(({ name }) => errors[name] !== undefined) || errors.notes !== undefined;
  const used = form.notes !== "" || PRICES.some(({ name }) => form[name] !== "");
  const prices = preset?.prices ?? null;
  return (
    <details className="mt-1 border-t border-line pt-2" open={wrong || used ? true : undefined}>
      <summary className="w-fit py-1 text-soft hover:text-ink">Notes and prices</summary>
      <Field label="Notes" path="notes">
        {(ids) => (
          <TextArea
            {...ids}
            rows={3}
            value={form.notes}
            placeholder="Whom to ask, what it is for"
            onChange={(event) => set({ notes: event.target.value })}
          />
        )}
      </Field>
      {PRICES.map(({ name, label, listed }) => (
        <TextField
          key={name}
          label={label}
          hint={
            prices === null
              ? "For estimates; this store has no price list of its own."
              : `${prices.currency}; ${prices[listed]} by the provider's list.`
          }
          path={name}
          inputMode="decimal"
          value={form[name]}
          placeholder={prices === null ? "" : String(prices[listed])}
          onChange={(value) => set({ [name]: value })}
        />
      ))}
    </details>
  );
}
