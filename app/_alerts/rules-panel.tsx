"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ChannelView, RuleView } from "#protocol/alerts/alert-views.ts";
import { GROUP_EVERY_MS, GROUP_WAIT_MS } from "#protocol/alerts/alert-words.ts";
import { formatCount } from "#protocol/base/units.ts";
import { RowButtons } from "./row-buttons.tsx";
import { Age } from "../_hub/live/age.tsx";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { alertRulesQuery } from "../_hub/queries/queries.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { isMuted } from "./is-muted.ts";
import { conditionWords, scopeWords, SEVERITY_TONES } from "./rule-words.ts";
import { fullTime } from "../_ui/text/times.ts";

interface RulesPanelProps {
  channels: readonly ChannelView[];
  onEdit: (id: string) => void;
  onRemove: (id: string) => void;
  /** `all` mutes every rule. */
  onMute: (id: string) => void;
}

/** Lists the alert rules of the hub. */
export function RulesPanel({ channels, onEdit, onRemove, onMute }: RulesPanelProps) {
  const whyNot = useWhyNot("operator");
  const query = useQuery(alertRulesQuery());
  return (
    <Panel
      label="Rules"
      note={`Alerts of one rule go together: the first waits ${GROUP_WAIT_MS / 1_000} s for others, the next message at least ${GROUP_EVERY_MS / 60_000} min.`}
      side={
        query.data !== undefined &&
        query.data.length > 1 && (
          <Button size="small" whyNot={whyNot} onClick={() => onMute("all")}>
            Mute all…
          </Button>
        )
      }
    >
      {query.data === undefined ? (
        query.isError ? (
          <QueryFault query={query} />
        ) : (
          <SkeletonRows rows={6} label="Loading rules" />
        )
      ) : query.data.length === 0 ? (
        <Empty title="No rule">Add a rule to get notified.</Empty>
      ) : (
        <ul className="divide-y divide-line">
          {query.data.map((view) => (
            <RuleLine
              key={view.id}
              view={view}
              channels={channels}
              onEdit={onEdit}
              onRemove={onRemove}
              onMute={onMute}
            />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function RuleLine({ view, channels, onEdit, onRemove, onMute }: RulesPanelProps & { view: RuleView }) {
  const client = useQueryClient();
  const whyNotAdmin = useWhyNot("admin");
  const whyNot = useWhyNot("operator");
  const { id, version, rule, firing, mutedUntil, muteReason, toldAt } = view;
  const name = visibleText(rule.name);
  const refresh = () => void client.invalidateQueries({ queryKey: ["alerts"] });
  const unmute = useAction(() => hub.alerts.mute.mutate({ ruleId: id, forMs: 0 }));
  const turn = useAction((isEnabled: boolean) =>
    hub.alerts.rules.update.mutate({ id, version, rule: { ...rule, isEnabled } }),
  );
  const isMute = isMuted(view);
  const told = channels.filter((channel) => rule.channelIds.includes(channel.id)).map(({ channel }) => channel.name);
  const fault = unmute.fault ?? turn.fault;
  return (
    <li className="flex flex-wrap items-start gap-x-3 gap-y-2 px-4 py-2.5">
      <span className="w-[84px] shrink-0">
        <Tag tone={rule.isEnabled ? SEVERITY_TONES[rule.severity] : "quiet"} kind="plain">
          {rule.isEnabled ? rule.severity : "off"}
        </Tag>
      </span>
      <div className="min-w-0 flex-1 basis-72">
        <div className="[overflow-wrap:anywhere]">
          <b className="mr-2 font-mid">{name}</b>
          {firing > 0 && <span className="nums mr-2 text-lost">{formatCount(firing)} firing</span>}
          <span className="nums text-soft">
            {conditionWords(rule.condition)}
            {scopeWords(rule) !== "" && <>; {visibleText(scopeWords(rule))}</>}
          </span>
        </div>
        <div className="nums text-12 text-faint">
          {told.length === 0 ? "shown here only" : `notifies ${told.map(visibleText).join(", ")}`}
          {rule.quiet !== null && `, quiet from ${rule.quiet.from} to ${rule.quiet.to} (${rule.quiet.timeZone})`}
          {isMute && mutedUntil !== null && (
            <>
              , muted until {fullTime(mutedUntil)}
              {muteReason !== "" && <> ({visibleText(muteReason)})</>}
            </>
          )}
          {toldAt !== null && (
            <>
              , last message <Age at={toldAt} />
            </>
          )}
          , changed <Age at={view.updatedAt} />
        </div>
        {fault !== null && <FaultNote fault={fault} />}
      </div>
      <div className="flex flex-wrap gap-0.5 max-sm:-ml-2">
        <Button
          look="quiet"
          size="small"
          whyNot={whyNot}
          disabled={unmute.busy}
          aria-label={isMute ? `End the mute of ${name}` : `Mute ${name}`}
          onClick={() => (isMute ? unmute.run(undefined, refresh) : onMute(id))}
        >
          {isMute ? "End mute" : "Mute…"}
        </Button>
        <RowButtons
          name={name}
          isEnabled={rule.isEnabled}
          isTurning={turn.busy}
          whyNot={whyNotAdmin}
          onTurn={() => turn.run(!rule.isEnabled, refresh)}
          onEdit={() => onEdit(id)}
          onRemove={() => onRemove(id)}
        />
      </div>
    </li>
  );
}
