"use client";
import { Link } from "../_ui/navigation/link.tsx";
import { formatCount } from "#protocol/base/units.ts";
import { useActiveCount } from "../_hub/live/live.tsx";
import { NO_SEARCH, transferFilterOf } from "../_transfers/transfer-filter.ts";
import { TransferList } from "../_transfers/transfer-list.tsx";
import { Panel } from "../_ui/layout/panel.tsx";

const SHOWN = 6;

/** Lists moving transfers; waiting ones when nothing moves. */
export function TransfersPanel({ moves }: { moves: "now" | "waiting" }) {
  const active = useActiveCount();
  return (
    <Panel
      title="Transfers"
      note={moves}
      side={
        <Link href="/transfers" className="nums hover:text-ink hover:underline">
          {active > SHOWN ? `All ${formatCount(active)}` : "All"} transfers
        </Link>
      }
    >
      <TransferList nodeId={null} filter={transferFilterOf(moves)} search={NO_SEARCH} most={SHOWN} />
    </Panel>
  );
}
