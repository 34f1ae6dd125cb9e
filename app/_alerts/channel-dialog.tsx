"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ChannelView } from "#protocol/alerts/alert-views.ts";
import {
  CHANNEL_KIND_NAMES,
  CHANNEL_KINDS,
  isChannelKind,
  wholeSecret,
  type ChannelKind,
} from "#protocol/alerts/channel-kinds.ts";
import { formatCount } from "#protocol/base/units.ts";
import { hub } from "../_hub/queries/client.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { FormEnd } from "../_forms/form-end.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { Field } from "../_forms/field.tsx";
import { TextInput } from "../_ui/controls/text-input.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { ChannelFields, secretErrors, type TypedSecret } from "./channel-fields.tsx";
import { CheckLine } from "./check-line.tsx";

const KINDS = CHANNEL_KIND_NAMES.map((value) => ({ value, label: CHANNEL_KINDS[value].label }));
const isTyped = (typed: TypedSecret): boolean => Object.values(typed).some((text) => text.trim() !== "");

interface ChannelDialogProps {
  /** The channel to edit; null creates one. */
  edited: ChannelView | null;
  /** Number of alert rules. */
  rules: number;
  isFirst: boolean;
  onClose: () => void;
}

export function ChannelDialog({ edited, rules, isFirst, onClose }: ChannelDialogProps) {
  const client = useQueryClient();
  const [name, setName] = useState(edited?.channel.name ?? "");
  const [kind, setKind] = useState<ChannelKind>(edited?.channel.kind ?? "slack");
  const [typed, setTyped] = useState<TypedSecret>({});
  const [perMinute, setPerMinute] = useState(String(edited?.channel.perMinute ?? 6));
  const [isDefault, setIsDefault] = useState(edited?.channel.isDefault ?? isFirst);
  const [forAllRules, setForAllRules] = useState(isFirst);
  const mayBeEmpty = edited !== null && edited.channel.kind === kind && !isTyped(typed);
  const errors = {
    "channel.name": name.trim() === "" ? "A channel needs a name." : undefined,
    "channel.perMinute": /^([1-9]|[1-5]\d|60)$/.test(perMinute.trim()) ? undefined : "This is a number from 1 to 60.",
    ...(mayBeEmpty ? {} : secretErrors(kind, typed)),
  };
  const save = useAction(async () => {
    const isEnabled = edited?.channel.isEnabled ?? true;
    const channel = { name: name.trim(), kind, perMinute: Number(perMinute), isEnabled, isDefault };
    const secret = wholeSecret(kind, typed);
    if (edited === null) await hub.alerts.channels.create.mutate({ channel, secret, forAllRules });
    else {
      const kept = mayBeEmpty ? null : secret;
      await hub.alerts.channels.update.mutate({ id: edited.id, version: edited.version, channel, secret: kept });
    }
    return channel.name;
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={edited === null ? "Add channel" : `Edit ${visibleText(edited.channel.name)}`}
      intro={
        edited === null
          ? "Its address and keys are sealed in the hub and never shown again."
          : "Its address and keys are never shown. Left empty, all of them stay; to change one, enter all again."
      }
    >
      <Form
        label="Alert channel"
        errors={errors}
        actions={[save]}
        onSubmit={() =>
          save.run(undefined, (saved) => {
            void client.invalidateQueries({ queryKey: ["alerts"] });
            say("safe", `${saved} is saved.`);
            onClose();
          })
        }
      >
        <Field label="Kind">
          {(ids) => (
            <Select
              {...ids}
              label="Kind"
              value={kind}
              choices={KINDS}
              onChange={(value) => {
                if (isChannelKind(value)) setKind(value);
              }}
            />
          )}
        </Field>
        <TextField
          label="Name"
          path="channel.name"
          required
          value={name}
          maxLength={64}
          placeholder="on call"
          onChange={setName}
        />
        <ChannelFields kind={kind} typed={typed} mayBeEmpty={mayBeEmpty} onChange={setTyped} />
        <Field
          label="At most"
          path="channel.perMinute"
          hint="Further ones wait for the next minute, the most severe first."
        >
          {(ids) => (
            <span className="flex items-center gap-2">
              <TextInput
                {...ids}
                inputMode="numeric"
                className="nums max-w-28"
                value={perMinute}
                onChange={(event) => setPerMinute(event.target.value)}
              />
              <span className="text-soft">messages a minute</span>
            </span>
          )}
        </Field>
        {edited === null && (
          <CheckLine
            label={`Notify for all ${formatCount(rules)} rules`}
            hint="Otherwise this channel has to be added to each rule."
            checked={forAllRules}
            onChange={setForAllRules}
          />
        )}
        <CheckLine
          label="Default for new rules"
          hint="Rules that are added later use this channel."
          checked={isDefault}
          onChange={setIsDefault}
        />
        <FormFault />
        <FormEnd
          word={edited === null ? "Add channel" : "Save"}
          busyWord="Saving"
          busy={save.busy}
          onCancel={onClose}
        />
      </Form>
    </Dialog>
  );
}
