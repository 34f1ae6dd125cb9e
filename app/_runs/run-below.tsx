"use client";
import { HomesPanel } from "../_homes/homes-panel.tsx";
import { DrillPanel } from "../_verifying/drill-panel.tsx";
import { LineagePanel } from "../_lineage/lineage-panel.tsx";
import { LostWorkLedger } from "../_lost-work/lost-work-ledger.tsx";
import { RetentionPanel } from "../_retention/retention-panel.tsx";
import { TrashPanel } from "../_retention/trash-panel.tsx";

/** Shows the secondary panels of a run, loaded together so that the layout does not shift repeatedly. */
export function RunBelow({ run }: { run: string }) {
  return (
    <>
      <HomesPanel run={run} />
      <RetentionPanel run={run} />
      <TrashPanel run={run} />
      <DrillPanel run={run} />
      <LineagePanel run={run} />
      <LostWorkLedger run={run} />
    </>
  );
}
