"use client";
import { channelKind, secretProblems, type ChannelKind, type ChannelSecret } from "#protocol/alerts/channel-kinds.ts";
import { Field } from "../_forms/field.tsx";
import { SecretField } from "../_forms/secret-field.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { TextField } from "../_forms/text-field.tsx";

/** Typed address and keys of a channel, by field. */
export type TypedSecret = Partial<ChannelSecret>;

interface ChannelFieldsProps {
  kind: ChannelKind;
  typed: TypedSecret;
  /** Whether an empty field keeps the stored secret. */
  mayBeEmpty: boolean;
  onChange: (typed: TypedSecret) => void;
}

/** Returns the errors of the fields by their input paths. */
export const secretErrors = (kind: ChannelKind, typed: TypedSecret): Record<string, string> =>
  Object.fromEntries(Object.entries(secretProblems(kind, typed)).map(([name, problem]) => [`secret.${name}`, problem]));

/** Shows the fields of a kind of channel, from the table of kinds. */
export function ChannelFields({ kind, typed, mayBeEmpty, onChange }: ChannelFieldsProps) {
  return channelKind(kind).fields.map(({ name, label, hint, placeholder, isRequired, look, usual }) => {
    const value = typed[name] ?? "";
    const set = (text: string) => onChange({ ...typed, [name]: text });
    const about = { path: `secret.${name}`, label, hint, required: isRequired && !mayBeEmpty };
    if (look === "secret") return <SecretField key={name} {...about} value={value} onChange={set} />;
    if (look === "text") {
      return <TextField key={name} {...about} kind="code" value={value} placeholder={placeholder} onChange={set} />;
    }
    return (
      <Field key={name} {...about}>
        {(ids) => (
          <Select {...ids} label={label} value={value === "" ? (usual ?? null) : value} choices={look} onChange={set} />
        )}
      </Field>
    );
  });
}
