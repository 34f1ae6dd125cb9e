"use client";
import { HomesPanel } from "../_homes/homes-panel.tsx";
import { DrillPanel } from "../_verifying/drill-panel.tsx";
import { LineagePanel } from "../_lineage/lineage-panel.tsx";
import { LossLedger } from "../_losses/loss-ledger.tsx";
import { RetentionPanel } from "../_keeping/retention-panel.tsx";
import { TrashPanel } from "../_keeping/trash-panel.tsx";

/** Shows the secondary panels of a run, loaded together so that the layout does not shift repeatedly. */
export function RunBelow({ run }: { run: string }) {
  return (
    <>
      <HomesPanel run={run} />
      <RetentionPanel run={run} />
      <TrashPanel run={run} />
      <DrillPanel run={run} />
      <LineagePanel run={run} />
      <LossLedger run={run} />
    </>
  );
}
