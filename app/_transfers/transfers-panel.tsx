"use client";
import { useState, type ReactNode } from "react";
import { useAddressWord } from "../_hub/address/address.ts";
import { useLiveTransfers, useStateOfNode } from "../_hub/live/live.tsx";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { countShown, fitsSearch, NO_SEARCH, TRANSFER_FILTERS, transferFilterOf } from "./transfer-filter.ts";
import { TransferListLater } from "./transfer-list-later.tsx";
import { TransferSearchLine } from "./transfer-search-line.tsx";
import { useTransferPages } from "./use-transfer-pages.ts";
import { useTransferSearch } from "./use-transfer-search.ts";

interface TransfersPanelProps {
  nodeId: string | null;
  /** Content below the list, shown once the list has its height, so that it does not move. */
  below?: ReactNode;
}

/** Lists transfers with filters. For a single node it has no search fields. */
export function TransfersPanel({ nodeId, below }: TransfersPanelProps) {
  const [word, setWord] = useAddressWord("show", "now");
  const { search: asked, change, clear } = useTransferSearch();
  const search = nodeId === null ? asked : NO_SEARCH;
  const filter = transferFilterOf(word);
  const live = useLiveTransfers();
  const stateOfNode = useStateOfNode();
  // Starts the query while the script of the list is still loading.
  const { isPending } = useTransferPages({ nodeId, filter, search });
  const [hasHeight, setHasHeight] = useState(false);
  if (!hasHeight && !isPending && live !== null) setHasHeight(true);
  const mine = [...(live?.values() ?? [])].filter(
    (row) => (nodeId === null || row.nodeId === nodeId) && fitsSearch(row, search),
  );
  const filters = (
    <FilterWords
      label="Show"
      value={filter.id}
      onChange={setWord}
      words={TRANSFER_FILTERS.map((one) => ({
        id: one.id,
        label: one.label,
        count: live === null ? undefined : countShown(one, mine, stateOfNode),
      }))}
    />
  );
  return (
    <>
      <Panel label="Transfers" {...(nodeId === null ? {} : { title: "Transfers", side: filters })}>
        {nodeId === null && (
          <div className="flex flex-col gap-2 border-b border-line px-4 py-2.5">
            {filters}
            <TransferSearchLine search={search} change={change} clear={clear} />
          </div>
        )}
        <TransferListLater key={filter.id} nodeId={nodeId} filter={filter} search={search} />
      </Panel>
      {hasHeight && below}
    </>
  );
}
