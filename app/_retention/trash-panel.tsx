"use client";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { useWhyNot } from "../_hub/session/person.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { trashQuery } from "./retention-queries.ts";
import { TrashLine } from "./trash-line.tsx";
import { formatBytes } from "../_ui/text/sizes.ts";

const EmptyDialog = onDemand(() => import("./empty-dialog.tsx").then((module) => module.EmptyDialog));
const FIRST_SHOWN = 20;

/** Lists the trash of a run. Renders nothing while it is empty. */
export function TrashPanel({ run }: { run: string }) {
  const whyNot = useWhyNot("admin");
  const query = useQuery(trashQuery(run));
  const [emptying, setEmptying] = useState(false);
  const [most, setMost] = useState(FIRST_SHOWN);
  if (query.isError) return <FaultNote fault={faultOf(query.error)} onRetry={() => void query.refetch()} />;
  const rows = query.data ?? [];
  if (rows.length === 0) return null;
  const bytes = rows.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return (
    <Panel
      title="Trash"
      note={`${formatCount(rows.length)}, ${formatBytes(bytes)}`}
      side={
        <Button size="small" disabled={whyNot !== null} title={whyNot ?? undefined} onClick={() => setEmptying(true)}>
          Empty now…
        </Button>
      }
    >
      <ul className="divide-y divide-line">
        {rows.slice(0, most).map((row) => (
          <TrashLine key={row.checkpointId} row={row} />
        ))}
      </ul>
      {rows.length > most && (
        <div className="border-t border-line px-4 py-2">
          <Button look="quiet" size="small" onClick={() => setMost(rows.length)}>
            Show all {formatCount(rows.length)}
          </Button>
        </div>
      )}
      {emptying && <EmptyDialog run={run} rows={rows} onClose={() => setEmptying(false)} />}
    </Panel>
  );
}
