"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ChannelView } from "#protocol/alert-views.ts";
import { CHANNEL_KINDS, type ChannelKind } from "#protocol/alerts.ts";
import { hub } from "../_hub/client.ts";
import { FaultNote } from "../_hub/fault-note.tsx";
import { useAction } from "../_hub/use-action.ts";
import { Button } from "../_ui/button.tsx";
import { Dialog } from "../_ui/dialog.tsx";
import { Field, TextInput } from "../_ui/field.tsx";
import { Select } from "../_ui/select.tsx";
import { say } from "../_ui/toast.tsx";
import { visibleText } from "../_ui/visible-text.ts";

/** What each kind asks for. */
export const CHANNEL_WORDS: Readonly<Record<ChannelKind, { label: string; address: string; key: string | null }>> = {
  slack: { label: "Slack", address: "https://hooks.slack.com/services/…", key: null },
  discord: { label: "Discord", address: "https://discord.com/api/webhooks/…", key: null },
  ntfy: { label: "ntfy", address: "https://ntfy.sh/my-topic", key: "Access token, if the topic needs one." },
  webhook: {
    label: "Webhook",
    address: "https://example.com/hook",
    key: "At least 16 characters. Every message is signed with it (HMAC-SHA256).",
  },
};

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
        <Field label="Name">
          {(ids) => (
            <TextInput
              {...ids}
              value={name}
              maxLength={64}
              placeholder="on call"
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label="Address" hint={edited === null ? undefined : "Left empty, the stored one stays."}>
          {(ids) => (
            <TextInput
              {...ids}
              kind="code"
              value={url}
              placeholder={words.address}
              onChange={(event) => setUrl(event.target.value)}
            />
          )}
        </Field>
        {words.key !== null && (
          <Field label={kind === "ntfy" ? "Token" : "Key"} hint={words.key}>
            {(ids) => (
              <TextInput
                {...ids}
                kind="code"
                type="password"
                autoComplete="new-password"
                value={key}
                onChange={(event) => setKey(event.target.value)}
              />
            )}
          </Field>
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
        <div className="sticky bottom-[-12px] z-10 -mx-5 mt-3 -mb-3 flex flex-wrap items-center justify-end gap-2 border-t border-line bg-panel px-5 py-3">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" disabled={save.busy}>
            {save.busy ? "Saving" : edited === null ? "Add channel" : "Save"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
