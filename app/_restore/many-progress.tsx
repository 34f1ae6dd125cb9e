"use client";
import { useQuery } from "@tanstack/react-query";
import type { StartedRestore } from "#protocol/wire/restoring.ts";
import type { CheckpointRow, RestorePlan } from "#protocol/wire/views.ts";
import { formatCount } from "#protocol/base/units.ts";
import { wordsOf } from "../_hub/faults/fault-of.ts";
import { useLiveTransfers } from "../_hub/live/live.tsx";
import { checkpointQuery } from "../_hub/queries/queries.ts";
import { TransferLine } from "../_hub/transfers/transfer-line.tsx";
import { isEnded } from "../_hub/transfers/transfer-words.ts";
import { Banner } from "../_ui/feedback/banner.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

interface ManyProgressProps {
  restores: readonly StartedRestore[];
  checkpoint: CheckpointRow;
  queue: RestorePlan["queue"];
}

const SHOWN = 50;

/** Shows the progress of restores to many nodes: the total, and each restore as a sentence. */
export function ManyProgress({ restores, checkpoint, queue }: ManyProgressProps) {
  const live = useLiveTransfers();
  const stored = useQuery({ ...checkpointQuery(checkpoint.id), refetchInterval: 2000 });
  const rows = restores.flatMap(({ transferId }) => {
    if (transferId === null) return [];
    const row = live?.get(transferId) ?? stored.data?.restores.find((one) => one.id === transferId);
    return row === undefined ? [] : [row];
  });
  const refused = restores.filter(({ fault }) => fault !== null);
  const asked = restores.length - refused.length;
  const done = rows.filter(({ state }) => state === "done").length;
  const failed = rows.filter(({ state }) => state === "failed" || state === "cancelled").length;
  const isOver = rows.length === asked && rows.every(({ state }) => isEnded(state));
  return (
    <div className="flex flex-col gap-2">
      <Banner
        tone={failed + refused.length > 0 ? "risk" : isOver ? "safe" : "moving"}
        title={
          <span className="nums">
            Restored and verified on {formatCount(done)} of {formatCount(restores.length)} nodes.
          </span>
        }
      >
        {failed > 0 && `${formatCount(failed)} did not arrive. `}
        {!isOver && `At most ${formatCount(queue.atOnce)} run at a time; the others wait for their turn.`}
      </Banner>
      {refused.map(({ nodeId, nodeName, fault }) => (
        <p key={nodeId} className="px-4 text-soft">
          {visibleText(nodeName ?? nodeId)}: {fault === null ? "" : visibleText(wordsOf(fault).says)}
        </p>
      ))}
      <ul aria-label="Restores" className="-mx-4 divide-y divide-line">
        {rows.slice(0, SHOWN).map((row) => (
          <TransferLine key={row.id} row={row} />
        ))}
      </ul>
    </div>
  );
}
