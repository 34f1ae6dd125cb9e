"use client";
import { useQuery } from "@tanstack/react-query";
import { drillsQuery } from "../_hub/queries/queries.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { useHubNow, useLiveTransfers } from "../_hub/live/live.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { TransferLine } from "../_hub/transfers/transfer-line.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { DRILL_CHOICES, nextWords, usualWords } from "./drill-words.ts";

const USUAL = "usual";

/** Shows the restore drills of a run: interval, last results and the next date. */
export function DrillPanel({ run }: { run: string }) {
  const drills = useQuery(drillsQuery(run));
  const live = useLiveTransfers();
  const now = useHubNow(10_000);
  const whyNot = useWhyNot("operator");
  const set = useAction((value: string) => {
    const everyMs = value === USUAL ? null : Number(value);
    return hub.drills.set.mutate({ run, everyMs }).then(() => drills.refetch());
  });
  const view = drills.data;
  return (
    <Panel
      title="Restore drills"
      note={view === undefined ? undefined : <span className="nums">{nextWords(view, now)}</span>}
      side={
        view !== undefined && (
          <div className="w-56 max-w-full">
            <Select
              label="How often restores are rehearsed"
              value={view.setFor === "all" ? USUAL : String(view.everyMs)}
              disabled={whyNot !== null || set.busy}
              onChange={(value) => set.run(value)}
              choices={[{ value: USUAL, label: usualWords(view.usualMs) }, ...DRILL_CHOICES]}
            />
          </div>
        )
      }
    >
      {set.fault !== null && (
        <div className="p-3">
          <FaultNote fault={set.fault} />
        </div>
      )}
      {view === undefined ? (
        drills.isError ? (
          <QueryFault query={drills} />
        ) : (
          <SkeletonRows rows={1} label="Loading restore drills" />
        )
      ) : view.last.length === 0 ? (
        <p className="max-w-[72ch] px-4 py-3 text-soft">
          In a drill an idle node restores the newest complete checkpoint into a scratch folder, verifies every byte,
          and removes it. None has run yet.
        </p>
      ) : (
        <ul aria-label="Drills" className="divide-y divide-line">
          {view.last.map((row) => (
            <TransferLine key={row.id} row={live?.get(row.id) ?? row} />
          ))}
        </ul>
      )}
    </Panel>
  );
}
