"use client";
import type { PresetView } from "#protocol/wire/profile-views.ts";
import { Field } from "../_forms/field.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { serviceFor, type ProfileForm } from "./profile-draft.ts";

const WAYS: readonly { value: ProfileForm["keyWay"]; label: string; note: string }[] = [
  { value: "itself", label: "signs by itself", note: "a key of this bucket alone" },
  { value: "sts", label: "takes a role", note: "AssumeRole: a new key each half hour" },
  { value: "r2", label: "asks Cloudflare", note: "temporary keys of R2; the secret is an API token" },
];

/** Fields for the use of the key: it signs directly, or only requests temporary keys that expire within the hour. */
export function KeyWayFields(props: {
  form: ProfileForm;
  preset: PresetView | undefined;
  set: (part: Partial<ProfileForm>) => void;
}) {
  const { form, preset, set } = props;
  const choices = WAYS.filter(({ value }) => value !== "r2" || form.provider === "r2" || form.keyWay === "r2");
  return (
    <>
      <Field label="The key" hint="With a role the stored key only gets temporary keys, which end within an hour.">
        {(ids) => (
          <Select
            {...ids}
            label="The key"
            value={form.keyWay}
            choices={choices}
            onChange={(value) => {
              const keyWay = WAYS.find((way) => way.value === value)?.value ?? "itself";
              const service =
                keyWay === "itself" || form.keyService !== "" ? form.keyService : serviceFor(form, preset);
              set({ keyWay, keyService: service });
            }}
          />
        )}
      </Field>
      {form.keyWay !== "itself" && (
        <TextField
          label="Service"
          hint="Where temporary keys are given out."
          path="keyService"
          kind="code"
          value={form.keyService}
          placeholder="https://sts.eu-central-1.amazonaws.com"
          onChange={(value) => set({ keyService: value })}
        />
      )}
      {form.keyWay === "sts" && (
        <>
          <TextField
            label="Role"
            hint="Its ARN. Empty where the store gives the user's own rights (MinIO)."
            path="roleArn"
            kind="code"
            value={form.roleArn}
            placeholder="arn:aws:iam::123456789012:role/tidemark"
            onChange={(value) => set({ roleArn: value })}
          />
          <TextField
            label="External id"
            hint="Where the role's trust policy asks for one."
            path="externalId"
            kind="code"
            value={form.externalId}
            onChange={(value) => set({ externalId: value })}
          />
        </>
      )}
    </>
  );
}
