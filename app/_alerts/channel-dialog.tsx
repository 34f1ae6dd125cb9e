"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ChannelView } from "#protocol/alert-views.ts";
import { CHANNEL_KINDS, type ChannelKind } from "#protocol/alerts.ts";
import { hub } from "../_hub/client.ts";
import { FaultNote } from "../_hub/fault-note.tsx";
import { useAction } from "../_hub/use-action.ts";
import { FormEnd } from "../_ui/form-end.tsx";
import { Dialog } from "../_ui/dialog.tsx";
import { Field, TextInput } from "../_ui/field.tsx";
import { TextField } from "../_ui/text-field.tsx";
import { Select } from "../_ui/select.tsx";
import { say } from "../_ui/toast.tsx";
import { SecretField } from "../_ui/secret-field.tsx";
import { visibleText } from "../_ui/visible-text.ts";
import { CHANNEL_WORDS } from "./channel-words.ts";

interface ChannelDialogProps {
  /** Null makes a new one. */
  edited: ChannelView | null;
  onClose: () => void;
}

export function ChannelDialog({ edited, onClose }: ChannelDialogProps) {
  const client = useQueryClient();
  const [name, setName] = useState(edited?.channel.name ?? "");
  const [kind, setKind] = useState<ChannelKind>(edited?.channel.kind ?? "slack");
  const [url, setUrl] = useState("");
  const [key, setKey] = useState("");
  const [perMinute, setPerMinute] = useState(String(edited?.channel.perMinute ?? 6));
  const words = CHANNEL_WORDS[kind];
  const save = useAction(async () => {
    const channel = { name, kind, perMinute: Number(perMinute), isEnabled: edited?.channel.isEnabled ?? true };
    const secret = { url: url.trim(), key: words.key === null ? "" : key };
    if (edited === null) await hub.alerts.channels.create.mutate({ channel, secret });
    else {
      const kept = url.trim() === "" && key === "" ? null : secret;
      await hub.alerts.channels.update.mutate({ id: edited.id, version: edited.version, channel, secret: kept });
    }
    return name;
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={edited === null ? "Add channel" : `Edit ${visibleText(edited.channel.name)}`}
      intro="Its address and key are sealed in the hub and never shown again."
    >
      <form
        aria-label="Alert channel"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          save.run(undefined, (saved) => {
            void client.invalidateQueries({ queryKey: ["alerts"] });
            say("safe", `${saved} is saved.`);
            onClose();
          });
        }}
      >
        <Field label="Kind">
          {(ids) => (
            <Select
              {...ids}
              label="Kind"
              value={kind}
              choices={CHANNEL_KINDS.map((value) => ({ value, label: CHANNEL_WORDS[value].label }))}
              onChange={(value) => setKind(CHANNEL_KINDS.find((one) => one === value) ?? "webhook")}
            />
          )}
        </Field>
        <TextField label="Name" value={name} maxLength={64} placeholder="on call" onChange={setName} />
        <TextField
          label="Address"
          hint={edited === null ? undefined : "Left empty, the stored one stays."}
          kind="code"
          value={url}
          placeholder={words.address}
          onChange={setUrl}
        />
        {words.key !== null && (
          <SecretField label={kind === "ntfy" ? "Token" : "Key"} hint={words.key} value={key} onChange={setKey} />
        )}
        <Field label="At most" hint="Further ones wait for the next minute.">
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
        <div className="flex flex-col gap-3 empty:hidden">
          {save.fault !== null && <FaultNote fault={save.fault} />}
        </div>
        <FormEnd
          word={edited === null ? "Add channel" : "Save"}
          busyWord="Saving"
          busy={save.busy}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  );
}
