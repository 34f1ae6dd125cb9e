"use client";
import { LostWorkLedger } from "../../_lost-work/lost-work-ledger.tsx";
import { PageHead } from "../../_shell/page-head.tsx";

/** Shows the cost of interruptions over the fleet. */
export function LossesView() {
  return (
    <>
      <PageHead
        title="Lost work"
        about="Training that had to be repeated after an interruption: everything since the newest safe step. Weeks begin on Mondays, UTC."
      />
      <LostWorkLedger run={null} />
    </>
  );
}
