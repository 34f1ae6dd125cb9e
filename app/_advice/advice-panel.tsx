"use client";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Advice } from "#protocol/alerts/advice.ts";
import { ADVICE_KINDS, type AdviceKind } from "#protocol/alerts/advice-kinds.ts";
import { formatCount } from "#protocol/base/units.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { MoreRow } from "../_ui/tables/more-row.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { AdviceItem } from "./advice-item.tsx";

// Loaded on demand, because it is below the main content of the page.
const TimesPanel = onDemand(() => import("./times-panel.tsx").then((part) => part.TimesPanel));

export const adviceQuery = (nodeId: string | null) =>
  queryOptions({
    queryKey: ["advice", nodeId],
    queryFn: () => hub.advice.list.query({ nodeId }),
    staleTime: 60_000,
    refetchInterval: 300_000,
  });

const LABELS: Readonly<Record<AdviceKind, string>> = {
  interval: "Saves too often",
  degrading: "Getting slower",
  throttled: "Throttled",
  asymmetric: "Asymmetric",
  far: "Far",
  "best-bucket": "Better bucket",
  "part-size": "Part size",
  connections: "Connections",
};
const PORTION = 30;

/** Shows all advice drawn from the fleet's history, and how long checkpoints take. */
export function AdvicePanel() {
  const found = useQuery(adviceQuery(null));
  const { data } = found;
  if (data === undefined && found.isError)
    return <FaultNote fault={faultOf(found.error)} onRetry={() => void found.refetch()} />;
  if (data === undefined)
    return (
      <Panel>
        <SkeletonRows rows={5} label="Looking at the history" />
      </Panel>
    );
  const open = data.advice.filter(({ dismissal }) => dismissal === null);
  const aside = data.advice.filter(({ dismissal }) => dismissal !== null);
  const share = data.oneIn === 1 ? "" : `, one in ${formatCount(data.oneIn)} of them`;
  const cases = data.benchRows === 0 ? "" : `, and ${formatCount(data.benchRows)} values of benchmarks`;
  return (
    <div className="flex flex-col gap-5">
      <AdviceList
        advice={open}
        note={`from ${formatCount(data.rows)} probes and transfers of the last ${data.days} days${share}${cases}`}
      />
      <TimesPanel answer={data} />
      {aside.length > 0 && (
        <details className="rounded-2 border border-line bg-panel">
          <summary className="nums px-4 py-2.5 text-soft hover:text-ink">{formatCount(aside.length)} dismissed</summary>
          <ul aria-label="Dismissed" className="border-t border-line">
            {aside.map((one) => (
              <AdviceItem key={one.key} advice={one} place="fleet" />
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function AdviceList({ advice, note }: { advice: readonly Advice[]; note: string }) {
  const [show, setShow] = useAddressWord("kind", "all");
  const [most, setMost] = useState(PORTION);
  const shown = show === "all" ? advice : advice.filter(({ kind }) => kind === show);
  const words = [
    { id: "all", label: "All", count: advice.length },
    ...ADVICE_KINDS.map((kind) => ({
      id: kind,
      label: LABELS[kind],
      count: advice.filter((one) => one.kind === kind).length,
    })).filter(({ count }) => count > 0),
  ];
  return (
    <Panel
      label="Advice"
      title="What your links say"
      note={<span className="nums">{note}</span>}
      side={advice.length > 0 && <FilterWords label="Kind of advice" words={words} value={show} onChange={setShow} />}
    >
      {shown.length === 0 ? (
        <Empty title="Nothing to advise">
          Advice needs a history: each rule needs a minimum number of values. Probes, transfers and benchmarks of your
          nodes are kept as they come in.
        </Empty>
      ) : (
        <ul aria-label="Advice">
          {shown.slice(0, most).map((one) => (
            <AdviceItem key={one.key} advice={one} place="fleet" />
          ))}
        </ul>
      )}
      <MoreRow
        word="More"
        onMore={shown.length > most ? () => setMost(most + PORTION) : null}
        note={shown.length > most ? `${formatCount(most)} of ${formatCount(shown.length)} shown` : undefined}
      />
    </Panel>
  );
}
