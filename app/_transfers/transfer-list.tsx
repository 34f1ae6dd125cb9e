"use client";
import { useState } from "react";
import { formatCount } from "#protocol/units.ts";
import { Listed } from "../_hub/listed.tsx";
import { useLiveTransfers } from "../_hub/live.tsx";
import { TransferLine } from "../_hub/transfer-line.tsx";
import { useFrozenOrder } from "../_ui/freeze-order.ts";
import { fitsSearch, isSearching, NOTHING, transfersShown } from "./transfer-filter.ts";
import { useTransferPages, type TransfersAsked } from "./use-transfer-pages.ts";

interface TransferListProps extends TransfersAsked {
  /** At most so many, where there is a page for all of them. Default: all. */
  most?: number;
}

const NONE: ReadonlySet<string> = new Set();

/** Transfers as sentences: those that move now from the live link, those that ended from the hub's history. */
export function TransferList({ nodeId, filter, search, most = Infinity }: TransferListProps) {
  const [kept, setKept] = useState(NONE);
  const live = useLiveTransfers();
  const stored = useTransferPages({ nodeId, filter, search });
  const mine = [...(live?.values() ?? [])].filter(
    (row) => (nodeId === null || row.nodeId === nodeId) && fitsSearch(row, search),
  );
  const pages = stored.data?.pages.flatMap((page) => page.rows) ?? [];
  const shown = transfersShown({ filter, stored: pages, live: mine, kept });
  const byId = new Map(shown.map((row) => [row.id, row]));
  const order = useFrozenOrder(shown.map((row) => row.id));
  const isAwaited = shown.length === 0 && (stored.data === undefined || live === null);
  const nothing = isSearching(search) ? "No transfer fits these filters." : NOTHING[filter.id];
  return (
    <Listed
      query={most === Infinity ? stored : { ...stored, hasNextPage: false }}
      rows={isAwaited ? null : order.ids}
      loading={{ label: "Loading transfers", rows: 3 }}
      empty={<p className="px-4 py-6 text-soft">{nothing}</p>}
      note={stored.hasNextPage && most === Infinity ? `${formatCount(shown.length)} shown` : undefined}
    >
      {(ids) => (
        <ul className="divide-y divide-line" {...order.hold}>
          {ids.slice(0, most).map((id) => {
            const row = byId.get(id);
            return row === undefined ? null : (
              <TransferLine
                key={id}
                row={row}
                subject={nodeId === null ? "with-node" : "without-node"}
                onAct={() => setKept((before) => new Set([...before, id]))}
              />
            );
          })}
        </ul>
      )}
    </Listed>
  );
}
