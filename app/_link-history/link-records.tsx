"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { LinkRecordView } from "#protocol/history/history.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import { Age } from "../_hub/live/age.tsx";
import { useRate } from "../_hub/preferences/choices.ts";
import { hub } from "../_hub/queries/client.ts";
import { Listed } from "../_hub/queries/listed.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { formatBytes } from "../_ui/text/sizes.ts";
import { recordsAsked } from "./records-asked.ts";

const PAGE = 8;
const newest = (): string | null => null;
const KIND_WORDS = { probe: "Probe", upload: "Upload", download: "Restore" } as const;

/** Lists the samples behind the percentiles, newest first; loaded when opened. */
export function LinkRecords({ nodeId, span }: { nodeId: string; span: { from: number; to: number } }) {
  const [isOpen, setOpen] = useState(false);
  const query = useInfiniteQuery({
    queryKey: ["history", "records", nodeId, span.from, span.to],
    queryFn: ({ pageParam }) => hub.history.list.query(recordsAsked({ nodeId, span, cursor: pageParam, limit: PAGE })),
    initialPageParam: newest(),
    getNextPageParam: (page) => page.nextCursor,
    enabled: isOpen,
  });
  const rows = query.data?.pages.flatMap((page) => page.rows) ?? null;
  return (
    <details className="border-t border-line" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="cursor-pointer px-4 py-2 text-soft hover:text-ink">Each probe and transfer</summary>
      <Listed
        query={query}
        rows={rows}
        loading={{ label: "Loading probes and transfers", rows: 3 }}
        empty={<p className="border-t border-line px-4 py-6 text-soft">None is stored for this time.</p>}
      >
        {(records) => (
          <ul className="divide-y divide-line border-t border-line">
            {records.map((row) => (
              <RecordLine key={row.id} row={row} />
            ))}
          </ul>
        )}
      </Listed>
    </details>
  );
}

const GOOD = new Set(["done", "accept", "accepted"]);

function RecordLine({ row }: { row: LinkRecordView }) {
  const rate = useRate();
  const facts = [
    ...(row.up === null ? [] : [`up ${rate(row.up)}`]),
    ...(row.down === null ? [] : [`down ${rate(row.down)}`]),
    ...(row.rttMs === null ? [] : [`RTT ${Math.round(row.rttMs)} ms`]),
    ...(row.sizeBytes === null ? [] : [formatBytes(row.sizeBytes)]),
    ...(row.tookMs === null ? [] : [`in ${formatDuration(row.tookMs)}`]),
    ...(row.connections === null ? [] : [`${formatCount(row.connections)} connections`]),
    ...(row.retries === null || row.retries === 0 ? [] : [`${formatCount(row.retries)} retries`]),
  ];
  const why = row.fault === null ? "" : ` (${row.fault})`;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
      <div className="min-w-0 flex-1 basis-64">
        <div className="truncate">
          <span className="font-mid">{KIND_WORDS[row.kind]}</span>
          {row.run !== null && <span className="text-soft"> of {visibleText(row.run)}</span>}
          <span className="text-faint"> · {visibleText(row.profileName ?? "a bucket that is gone")}</span>
        </div>
        <div className="nums text-12 text-faint">
          <Age at={row.at} /> · {facts.join(" · ") || "nothing measured"}
        </div>
      </div>
      <Tag tone={GOOD.has(row.outcome) ? "safe" : row.outcome === "failed" ? "lost" : "quiet"}>
        {visibleText(`${row.outcome}${why}`)}
      </Tag>
    </li>
  );
}
