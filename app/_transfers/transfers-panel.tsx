"use client";
import { useAddressWord } from "../_hub/address.ts";
import { useLiveTransfers } from "../_hub/live.tsx";
import { FilterWords } from "../_ui/filter-words.tsx";
import { Panel } from "../_ui/panel.tsx";
import { countShown, TRANSFER_FILTERS, transferFilterOf } from "./transfer-filter.ts";
import { TransferList } from "./transfer-list.tsx";

/** A list of transfers with its filters. */
export function TransfersPanel({ nodeId }: { nodeId: string | null }) {
  const [word, setWord] = useAddressWord("show", "now");
  const filter = transferFilterOf(word);
  const live = useLiveTransfers();
  const mine = [...(live?.values() ?? [])].filter((row) => nodeId === null || row.nodeId === nodeId);
  const filters = (
    <FilterWords
      label="Show"
      value={filter.id}
      onChange={setWord}
      words={TRANSFER_FILTERS.map((one) => ({
        id: one.id,
        label: one.label,
        count: live === null ? undefined : countShown(one, mine),
      }))}
    />
  );
  return (
    <Panel label="Transfers" {...(nodeId === null ? {} : { title: "Transfers", side: filters })}>
      {nodeId === null && <div className="border-b border-line px-4 py-2.5">{filters}</div>}
      <TransferList key={filter.id} nodeId={nodeId} filter={filter} />
    </Panel>
  );
}
