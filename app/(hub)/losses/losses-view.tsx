"use client";
import { LossLedger } from "../../_losses/loss-ledger.tsx";
import { PageHead } from "../../_shell/page-head.tsx";

/** Shows the cost of interruptions over the fleet. */
export function LossesView() {
  return (
    <>
      <PageHead
        title="Lost work"
        about="Training that had to be done again after an interruption: all since the step that was safe. Weeks begin on Mondays, UTC."
      />
      <LossLedger run={null} />
    </>
  );
}
