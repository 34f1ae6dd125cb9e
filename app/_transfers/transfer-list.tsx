"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { hub } from "../_hub/client.ts";
import { FaultNote } from "../_hub/fault-note.tsx";
import { faultOf } from "../_hub/fault-of.ts";
import { useLiveTransfers } from "../_hub/live.tsx";
import { TransferLine } from "../_hub/transfer-line.tsx";
import { Button } from "../_ui/button.tsx";
import { useFrozenOrder } from "../_ui/freeze-order.ts";
import { SkeletonRows } from "../_ui/skeleton.tsx";
import { NOTHING, transfersShown, type TransferFilter } from "./transfer-filter.ts";

const PAGE = 30;
const newest = (): string | null => null;

interface TransferListProps {
  /** One node's, or everybody's. */
  nodeId: string | null;
  filter: TransferFilter;
}

/** Transfers as sentences: those that move now from the live link, those that ended from the hub's history. */
export function TransferList({ nodeId, filter }: TransferListProps) {
  const live = useLiveTransfers();
  const stored = useInfiniteQuery({
    queryKey: ["transfers", nodeId, filter.id],
    queryFn: ({ pageParam }) =>
      hub.transfers.list.query({ nodeId, run: null, states: [...filter.states], cursor: pageParam, limit: PAGE }),
    initialPageParam: newest(),
    getNextPageParam: (page) => page.nextCursor,
  });
  const mine = [...(live?.values() ?? [])].filter((row) => nodeId === null || row.nodeId === nodeId);
  const rows = transfersShown({ filter, stored: stored.data?.pages.flatMap((page) => page.rows) ?? [], live: mine });
  const byId = new Map(rows.map((row) => [row.id, row]));
  const order = useFrozenOrder(rows.map((row) => row.id));

  if (rows.length === 0 && stored.isError)
    return (
      <div className="p-3">
        <FaultNote fault={faultOf(stored.error)} onRetry={() => void stored.refetch()} />
      </div>
    );
  if (rows.length === 0 && (stored.data === undefined || live === null))
    return <SkeletonRows rows={3} label="Loading transfers" />;
  if (rows.length === 0) return <p className="px-4 py-6 text-soft">{NOTHING[filter.id]}</p>;
  return (
    <>
      <ul className="divide-y divide-line" {...order.hold}>
        {order.ids.map((id) => {
          const row = byId.get(id);
          return row === undefined ? null : (
            <TransferLine key={id} row={row} subject={nodeId === null ? "with-node" : "without-node"} />
          );
        })}
      </ul>
      {stored.hasNextPage && (
        <div className="border-t border-line px-3 py-2">
          <Button
            look="quiet"
            size="small"
            disabled={stored.isFetchingNextPage}
            onClick={() => void stored.fetchNextPage()}
          >
            {stored.isFetchingNextPage ? "Loading" : "Earlier"}
          </Button>
        </div>
      )}
    </>
  );
}
