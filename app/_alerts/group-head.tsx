"use client";
import type { AlertRow, ChannelView, RuleView } from "#protocol/alerts/alert-views.ts";
import { formatCount } from "#protocol/base/units.ts";
import { hubNow } from "../_hub/live/live.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { tellingWords } from "./group-alerts.ts";

interface GroupHeadProps {
  rows: readonly AlertRow[];
  /** Undefined until the rules have arrived. */
  rule: RuleView | undefined;
  channels: readonly ChannelView[];
}

/** Shows the rule of a group of alerts and the delivery of its messages. Alerts that fire together share one message. */
export function GroupHead({ rows, rule, channels }: GroupHeadProps) {
  const told = channels
    .filter(({ id, channel }) => channel.isEnabled && rule?.rule.channelIds.includes(id) === true)
    .map(({ channel }) => visibleText(channel.name));
  return (
    <header className="nums flex flex-wrap items-baseline gap-x-2 bg-sunk px-4 py-1.5">
      <h3 className="font-mid">{visibleText(rows[0]?.ruleName ?? "")}</h3>
      <span className="text-12 text-faint">
        {formatCount(rows.length)} {rows.length === 1 ? "alert" : "alerts"}
        {rule !== undefined && <>, {tellingWords({ rows, rule, told, now: hubNow() })}</>}
      </span>
    </header>
  );
}
