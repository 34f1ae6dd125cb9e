"use client";
import { channelKind, secretProblems, type ChannelKind, type ChannelSecret } from "#protocol/alerts/channel-kinds.ts";
import { Field } from "../_forms/field.tsx";
import { SecretField } from "../_forms/secret-field.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { TextField } from "../_forms/text-field.tsx";

/** The address and the keys of a channel as they are typed, by field. */
export type TypedSecret = Partial<ChannelSecret>;

interface ChannelFieldsProps {
  kind: ChannelKind;
  typed: TypedSecret;
  /** Whether the stored one stays where nothing is typed. */
  mayBeEmpty: boolean;
  onChange: (typed: TypedSecret) => void;
}

/** The errors of the fields, by their paths in a call of the hub. */
export const secretErrors = (kind: ChannelKind, typed: TypedSecret): Record<string, string> =>
  Object.fromEntries(Object.entries(secretProblems(kind, typed)).map(([name, problem]) => [`secret.${name}`, problem]));

/** The fields of a kind of channel, as the table of kinds says. */
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
