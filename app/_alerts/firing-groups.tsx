import type { AlertRow, ChannelView, RuleView } from "#protocol/alerts/alert-views.ts";
import { AlertList } from "./alert-list.tsx";
import { groupAlerts } from "./group-alerts.ts";
import { GroupHead } from "./group-head.tsx";

interface FiringGroupsProps {
  rows: readonly AlertRow[];
  rules: readonly RuleView[];
  channels: readonly ChannelView[];
  onAcknowledge: (id: string) => void;
  /** Reason why this person may not acknowledge; null when they may. */
  whyNot: string | null;
  busy: boolean;
}

/** Shows firing alerts by rule, most severe first, with the messages sent about them. */
export function FiringGroups({ rows, rules, channels, ...handling }: FiringGroupsProps) {
  return groupAlerts(rows).map(({ ruleId, rows: ofRule }) => (
    <section key={ruleId} aria-label={ofRule[0]?.ruleName} className="border-t border-line first:border-t-0">
      <GroupHead rows={ofRule} rule={rules.find(({ id }) => id === ruleId)} channels={channels} />
      <AlertList rows={ofRule} {...handling} />
    </section>
  ));
}
