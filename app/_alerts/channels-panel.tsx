"use client";
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { ChannelView } from "#protocol/alerts/alert-views.ts";
import { CHANNEL_KINDS } from "#protocol/alerts/channel-kinds.ts";
import { formatCount } from "#protocol/base/units.ts";
import { RowButtons } from "./row-buttons.tsx";
import { Age } from "../_hub/live/age.tsx";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

interface ChannelsPanelProps {
  channels: readonly ChannelView[];
  add: ReactNode;
  onEdit: (id: string) => void;
  onRemove: (id: string) => void;
}

/** Lists the channels that alerts are sent to. */
export function ChannelsPanel({ channels, add, onEdit, onRemove }: ChannelsPanelProps) {
  return (
    <Panel label="Channels">
      {channels.length === 0 ? (
        <Empty title="No channel yet" action={add}>
          Alerts are shown here only. A channel sends them to Slack, Discord, ntfy, PagerDuty, Opsgenie, a mailbox or a
          webhook of your own.
        </Empty>
      ) : (
        <ul className="divide-y divide-line">
          {channels.map((view) => (
            <ChannelLine key={view.id} view={view} onEdit={onEdit} onRemove={onRemove} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function ChannelLine({
  view,
  onEdit,
  onRemove,
}: Pick<ChannelsPanelProps, "onEdit" | "onRemove"> & { view: ChannelView }) {
  const client = useQueryClient();
  const whyNot = useWhyNot("admin");
  const test = useAction(() => hub.alerts.test.mutate({ id: view.id }));
  const { channel, hint, waiting, lastSentAt, lastFault } = view;
  const turn = useAction((isEnabled: boolean) =>
    hub.alerts.channels.update.mutate({
      id: view.id,
      version: view.version,
      channel: { ...channel, isEnabled },
      secret: null,
    }),
  );
  const refresh = () => void client.invalidateQueries({ queryKey: ["alerts"] });
  const name = visibleText(channel.name);
  const fault = turn.fault ?? test.fault ?? test.result?.fault ?? lastFault;
  return (
    <li className="flex flex-col gap-2 px-4 py-2.5">
      <div className="flex flex-wrap items-start gap-x-3 gap-y-2">
        <div className="min-w-0 flex-1 basis-72">
          <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <b className="font-mid">{name}</b>
            <Tag tone="quiet" kind="plain">
              {CHANNEL_KINDS[channel.kind].label}
            </Tag>
            {channel.isDefault && (
              <Tag tone="quiet" kind="plain">
                default
              </Tag>
            )}
            {!channel.isEnabled && (
              <Tag tone="quiet" kind="plain">
                off
              </Tag>
            )}
            {test.result?.ok === true && <Tag tone="safe">Delivered</Tag>}
          </div>
          <div className="nums text-12 text-faint">
            <span className="font-mono">{visibleText(hint)}</span>, at most {channel.perMinute} a minute
            {lastSentAt !== null && (
              <>
                , last sent <Age at={lastSentAt} />
              </>
            )}
            {waiting > 0 && `, ${formatCount(waiting)} waiting`}
          </div>
        </div>
        <div className="flex flex-wrap gap-0.5 max-sm:-ml-2">
          <Button
            look="quiet"
            size="small"
            whyNot={whyNot}
            disabled={test.busy}
            aria-label={`Send a test to ${name}`}
            onClick={() => test.run(undefined, refresh)}
          >
            {test.busy ? "Sending" : "Test"}
          </Button>
          <RowButtons
            name={name}
            isEnabled={channel.isEnabled}
            isTurning={turn.busy}
            whyNot={whyNot}
            onTurn={() => turn.run(!channel.isEnabled, refresh)}
            onEdit={() => onEdit(view.id)}
            onRemove={() => onRemove(view.id)}
          />
        </div>
      </div>
      {fault !== null && <FaultNote fault={fault} />}
    </li>
  );
}
