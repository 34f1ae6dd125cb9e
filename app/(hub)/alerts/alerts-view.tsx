"use client";
import { useQuery } from "@tanstack/react-query";
import { formatCount } from "#protocol/base/units.ts";
import { FiringPanel } from "../../_alerts/firing-panel.tsx";
import { useAddressWord } from "../../_hub/address/address.ts";
import { hub } from "../../_hub/queries/client.ts";
import { useWhyNot } from "../../_hub/session/person.tsx";
import { activeAlertsQuery, alertChannelsQuery, alertRulesQuery } from "../../_hub/queries/queries.ts";
import { PageHead } from "../../_shell/page-head.tsx";
import { Button, ButtonLink } from "../../_ui/controls/button.tsx";
import { onDemand } from "../../_ui/loading/on-demand.tsx";
import { Tabs } from "../../_ui/layout/tabs.tsx";

const ChannelsPanel = onDemand(() => import("../../_alerts/channels-panel.tsx").then((module) => module.ChannelsPanel));
const HistoryPanel = onDemand(() => import("../../_alerts/history-panel.tsx").then((module) => module.HistoryPanel));
const RulesPanel = onDemand(() => import("../../_alerts/rules-panel.tsx").then((module) => module.RulesPanel));
const RuleDialog = onDemand(() => import("../../_alerts/rule-dialog.tsx").then((module) => module.RuleDialog));
const ChannelDialog = onDemand(() => import("../../_alerts/channel-dialog.tsx").then((module) => module.ChannelDialog));
const MuteDialog = onDemand(() => import("../../_alerts/mute-dialog.tsx").then((module) => module.MuteDialog));
const RemoveDialog = onDemand(() => import("../../_alerts/remove-dialog.tsx").then((module) => module.RemoveDialog));

const TABS = ["firing", "rules", "channels", "history"];

/** Shows firing alerts, rules, channels and history. Open tabs and dialogs are kept in the address. */
export function AlertsView() {
  const active = useQuery(activeAlertsQuery()).data;
  const rules = useQuery(alertRulesQuery()).data ?? [];
  const channels = useQuery(alertChannelsQuery()).data ?? [];
  const [show, setShow] = useAddressWord("show", "firing");
  const [rule, setRule] = useAddressWord("rule", "", "same");
  const [channel, setChannel] = useAddressWord("channel", "", "same");
  const [muting, setMuting] = useAddressWord("mute", "", "same");
  const [removing, setRemoving] = useAddressWord("remove", "", "same");
  const whyNot = useWhyNot("admin");
  const button = { disabled: whyNot !== null, title: whyNot ?? undefined };
  const addChannel = (
    <Button {...button} onClick={() => setChannel("new")}>
      Add channel
    </Button>
  );
  const editedRule = rules.find(({ id }) => id === rule);
  const editedChannel = channels.find(({ id }) => id === channel);
  const whyNotMute = useWhyNot("operator");
  const mutedRule = rules.find(({ id }) => id === muting);
  const removedRule = rules.find(({ id }) => id === removing);
  const removedChannel = channels.find(({ id }) => id === removing);
  const count = active?.total ?? 0;
  return (
    <>
      <PageHead
        title={active === undefined ? "Alerts" : count === 0 ? "No active alerts" : headline(count)}
        about={
          channels.length === 0
            ? "Add a channel to get notified outside this page."
            : "The hub checks the whole fleet every few seconds and notifies the channels of each rule."
        }
        actions={
          <>
            <ButtonLink look="quiet" href="/events">
              All events
            </ButtonLink>
            {addChannel}
            <Button look="main" {...button} onClick={() => setRule("new")}>
              Add rule
            </Button>
          </>
        }
      />
      <Tabs
        label="Alerts"
        value={TABS.includes(show) ? show : "firing"}
        onChange={setShow}
        items={[
          { id: "firing", label: "Firing now", body: <FiringPanel rules={rules} channels={channels} /> },
          {
            id: "rules",
            label: "Rules",
            body: <RulesPanel channels={channels} onEdit={setRule} onRemove={setRemoving} onMute={setMuting} />,
          },
          {
            id: "channels",
            label: "Channels",
            body: <ChannelsPanel channels={channels} add={addChannel} onEdit={setChannel} onRemove={setRemoving} />,
          },
          { id: "history", label: "History", body: <HistoryPanel /> },
        ]}
      />
      {whyNot === null && (rule === "new" || editedRule !== undefined) && (
        <RuleDialog key={rule} edited={editedRule ?? null} channels={channels} onClose={() => setRule("")} />
      )}
      {whyNot === null && (channel === "new" || editedChannel !== undefined) && (
        <ChannelDialog
          key={channel}
          edited={editedChannel ?? null}
          rules={rules.length}
          isFirst={channels.length === 0}
          onClose={() => setChannel("")}
        />
      )}
      {whyNotMute === null && (muting === "all" || mutedRule !== undefined) && (
        <MuteDialog rule={mutedRule ?? null} onClose={() => setMuting("")} />
      )}
      {whyNot === null && removedRule !== undefined && (
        <RemoveDialog
          name={removedRule.rule.name}
          remove={() => hub.alerts.rules.remove.mutate({ id: removedRule.id })}
          bringBack={() => hub.alerts.rules.create.mutate({ rule: removedRule.rule })}
          onClose={() => setRemoving("")}
        >
          Its alerts end without a message. Its history stays.
        </RemoveDialog>
      )}
      {whyNot === null && removedChannel !== undefined && (
        <RemoveDialog
          name={removedChannel.channel.name}
          remove={() => hub.alerts.channels.remove.mutate({ id: removedChannel.id })}
          onClose={() => setRemoving("")}
        >
          Its sealed address and its waiting messages are removed. Rules that use it continue without it.
        </RemoveDialog>
      )}
    </>
  );
}

const headline = (count: number): string => `${formatCount(count)} ${count === 1 ? "alert firing" : "alerts firing"}`;
