"use client";
import { useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import type { TransferRow } from "#protocol/wire/views.ts";
import { Listed } from "../_hub/queries/listed.tsx";
import { useHubNow, useLiveTransfers, useStateOfNode } from "../_hub/live/live.tsx";
import { TransferLine } from "../_hub/transfers/transfer-line.tsx";
import { isEnded } from "../_hub/transfers/transfer-words.ts";
import { useFrozenOrder } from "../_ui/tables/freeze-order.ts";
import { keepPlaces } from "./keep-places.ts";
import { fitsSearch, isSearching, NOTHING, transfersShown } from "./transfer-filter.ts";
import { useTransferPages, type TransfersAsked } from "./use-transfer-pages.ts";

interface TransferListProps extends TransfersAsked {
  /** Most rows shown. Default: all. */
  most?: number;
}

/** How long an ended transfer stays among the moving ones, unless another takes its place. */
const SEEN_FOR_MS = 30_000;
const LOOK_MS = 5_000;

const NONE: ReadonlySet<string> = new Set();

/** Lists transfers as sentences: moving ones from the live link, ended ones from the hub's history. */
export function TransferList({ nodeId, filter, search, most = Infinity }: TransferListProps) {
  const [kept, setKept] = useState(NONE);
  const [places, setPlaces] = useState<readonly string[]>([]);
  const live = useLiveTransfers();
  const stateOfNode = useStateOfNode();
  const stored = useTransferPages({ nodeId, filter, search });
  const mine = [...(live?.values() ?? [])].filter(
    (row) => (nodeId === null || row.nodeId === nodeId) && fitsSearch(row, search),
  );
  const pages = stored.data?.pages.flatMap((page) => page.rows) ?? [];
  const shown = transfersShown({ filter, stored: pages, live: mine, kept, stateOfNode });
  const now = useHubNow(LOOK_MS);
  const isEnding = (row: TransferRow): boolean => isEnded(row.state) && now - (row.endedAt ?? 0) < SEEN_FOR_MS;
  const ended = filter.id === "now" ? mine.filter(isEnding) : [];
  const byId = new Map([...shown, ...ended].map((row) => [row.id, row]));
  const ids = shown.map((row) => row.id);
  const wanted =
    filter.id === "now"
      ? keepPlaces({ before: places, moving: ids, ended: new Set(ended.map((row) => row.id)), most })
      : ids;
  if (filter.id === "now" && wanted.join() !== places.join()) setPlaces(wanted);
  const order = useFrozenOrder(wanted);
  const isAwaited = shown.length === 0 && (stored.data === undefined || live === null);
  const nothing = isSearching(search) ? "No transfer matches these filters." : NOTHING[filter.id];
  return (
    <Listed
      query={most === Infinity ? stored : { ...stored, hasNextPage: false }}
      rows={isAwaited ? null : order.ids}
      loading={{ label: "Loading transfers", rows: 3 }}
      empty={<p className="px-4 py-6 text-soft">{nothing}</p>}
      note={stored.hasNextPage && most === Infinity ? `${formatCount(shown.length)} shown` : undefined}
    >
      {(listed) => (
        <ul className="divide-y divide-line" {...order.hold}>
          {listed.slice(0, most).map((id) => {
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
