"use client";
import type { PresetView, ProfileView } from "#protocol/wire/profile-views.ts";
import { Button } from "../_ui/controls/button.tsx";
import { Field } from "../_forms/field.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { SecretField } from "../_forms/secret-field.tsx";
import { AboutFields } from "./about-fields.tsx";
import { AdvancedFields } from "./advanced-fields.tsx";
import { KeyWayFields } from "./key-way-fields.tsx";
import { needsAccount } from "./endpoint-template.ts";
import { withPlace, withPreset, type FieldErrors, type ProfileForm } from "./profile-draft.ts";

export interface ProfileFieldsProps {
  form: ProfileForm;
  errors: FieldErrors;
  presets: readonly PresetView[];
  edited: ProfileView | null;
  onChange: (change: (old: ProfileForm) => ProfileForm) => void;
}

export function ProfileFields({ form, errors, presets, edited, onChange }: ProfileFieldsProps) {
  const preset = presets.find((one) => one.provider === form.provider);
  const set = (part: Partial<ProfileForm>): void => onChange((old) => ({ ...old, ...part }));
  return (
    <>
      <TextField
        label="Name"
        hint="What you call it here."
        path="name"
        required
        value={form.name}
        placeholder="training-eu"
        onChange={(value) => set({ name: value })}
      />
      <Field label="Provider" hint={preset?.note}>
        {(ids) => (
          <Select
            {...ids}
            label="Provider"
            value={form.provider}
            choices={presets.map((one) => ({ value: one.provider, label: one.label }))}
            onChange={(value) => {
              const chosen = presets.find((one) => one.provider === value);
              if (chosen !== undefined) onChange((old) => withPreset(old, chosen));
            }}
          />
        )}
      </Field>
      {preset !== undefined && needsAccount(preset.endpointTemplate) && !form.endpointTyped && (
        <TextField
          label="Account"
          hint="The account part of the store's address."
          path="account"
          required
          kind="code"
          value={form.account}
          onChange={(value) => onChange((old) => withPlace(old, { account: value.trim() }, preset))}
        />
      )}
      <TextField
        label="Region"
        hint={preset?.regionHint}
        path="region"
        required
        kind="code"
        value={form.region}
        onChange={(value) => onChange((old) => withPlace(old, { region: value.trim() }, preset))}
      />
      <TextField
        label="Endpoint"
        path="endpoint"
        required
        kind="code"
        inputMode="url"
        value={form.endpoint}
        placeholder="https://s3.example.com"
        onChange={(value) => set({ endpoint: value, endpointTyped: true })}
      />
      <TextField
        label="Bucket"
        path="bucket"
        required
        kind="code"
        value={form.bucket}
        onChange={(value) => set({ bucket: value })}
      />
      <TextField
        label="Prefix"
        hint="Optional folder in the bucket. Tidemark writes only below it."
        path="prefix"
        kind="code"
        value={form.prefix}
        placeholder="tidemark/"
        onChange={(value) => set({ prefix: value })}
      />
      <KeyFields form={form} edited={edited} set={set} />
      <KeyWayFields form={form} preset={preset} set={set} />
      <AdvancedFields form={form} errors={errors} set={set} />
      <AboutFields form={form} errors={errors} preset={preset} set={set} />
    </>
  );
}

interface KeyFieldsProps {
  form: ProfileForm;
  edited: ProfileView | null;
  set: (part: Partial<ProfileForm>) => void;
}

/** Fields for the key, which is write-only. While editing, the stored key stays unless a new one is typed. */
function KeyFields({ form, edited, set }: KeyFieldsProps) {
  return (
    <>
      {edited !== null && (
        <Field label="Key">
          {(ids) => (
            <span className="flex min-h-[34px] items-center gap-2">
              <input
                {...ids}
                type="checkbox"
                className="size-4 accent-accent"
                checked={form.keepKey}
                onChange={(event) => set({ keepKey: event.target.checked })}
              />
              <span>
                keep the stored key <span className="font-mono text-12 text-faint">…{edited.accessKeyHint}</span>
              </span>
            </span>
          )}
        </Field>
      )}
      {form.imported !== null && (
        <Field label="Key">
          {(ids) => (
            <span className="flex min-h-[34px] flex-wrap items-center gap-2">
              <span id={ids.id}>
                from the pasted text <span className="font-mono text-12 text-faint">…{form.imported?.hint}</span>
              </span>
              <Button size="small" onClick={() => set({ imported: null })}>
                Type another
              </Button>
            </span>
          )}
        </Field>
      )}
      {!form.keepKey && form.imported === null && (
        <>
          <TextField
            label="Access key id"
            path="accessKeyId"
            required
            kind="code"
            value={form.accessKeyId}
            onChange={(value) => set({ accessKeyId: value })}
          />
          <SecretField
            label="Secret key"
            hint="Sealed in the hub. It is never shown again and never reaches a node."
            path="secretAccessKey"
            required
            value={form.secretAccessKey}
            onChange={(value) => set({ secretAccessKey: value })}
          />
        </>
      )}
    </>
  );
}
