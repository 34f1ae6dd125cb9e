"use client";
import { useQueryClient } from "@tanstack/react-query";
import type { RuleView } from "#protocol/alerts/alert-views.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { hubNow } from "../_hub/live/live.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { fullTime } from "../_ui/text/times.ts";
import { visibleText } from "../_ui/text/visible-text.ts";

/** Shows each mute with its reason, author and end, and a button that ends it. */
export function MutedPanel({ muted, all }: { muted: readonly RuleView[]; all: number }) {
  return (
    <Panel label="Muted" title={`${muted.length} of ${all} rules muted`}>
      <ul aria-label="Muted rules" className="divide-y divide-line">
        {muted.map((view) => (
          <MutedLine key={view.id} view={view} />
        ))}
      </ul>
    </Panel>
  );
}

function MutedLine({ view }: { view: RuleView }) {
  const client = useQueryClient();
  const whyNot = useWhyNot("operator");
  const end = useAction(() => hub.alerts.mute.mutate({ ruleId: view.id, forMs: 0 }));
  const name = visibleText(view.rule.name);
  const until = view.mutedUntil ?? 0;
  return (
    <li className="flex flex-wrap items-start gap-x-3 gap-y-1 px-4 py-2.5">
      <div className="min-w-0 flex-1 basis-60 [overflow-wrap:anywhere]">
        <b className="font-mid">{name}</b> {view.muteReason !== "" && visibleText(view.muteReason)}
        <div className="nums text-12 text-faint">
          until {fullTime(until)}, {formatDuration(until - hubNow())} from now
          {view.mutedBy !== "" && <>, by {visibleText(view.mutedBy)}</>}
        </div>
        {end.fault !== null && <FaultNote fault={end.fault} />}
      </div>
      <Button
        size="small"
        whyNot={whyNot}
        disabled={end.busy}
        aria-label={`End the mute of ${name}`}
        onClick={() => end.run(undefined, () => void client.invalidateQueries({ queryKey: ["alerts"] }))}
      >
        End
      </Button>
    </li>
  );
}
