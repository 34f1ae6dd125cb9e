"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { ENGINES } from "#protocol/benchmarks/engines.ts";
import { sentenceOf } from "#protocol/faults/fault.ts";
import type { BenchRow, CaseView } from "#protocol/benchmarks/views.ts";
import { formatCount } from "#protocol/base/units.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { useRate } from "../_hub/preferences/choices.ts";
import { hub } from "../_hub/queries/client.ts";
import { Listed } from "../_hub/queries/listed.tsx";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { nothingWords, spanWords } from "./bench-words.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

const PAGE = 25;
const WORDS = [
  { id: "all", label: "All" },
  { id: "failed", label: "Failed" },
];

/** Lists the cases behind the tables, each with the last output of its engine. */
export function CasesPanel({ bench }: { bench: BenchRow }) {
  const benchId = bench.id;
  const [which, setWhich] = useAddressWord("cases", "all");
  const failed = which === "failed";
  const query = useInfiniteQuery({
    queryKey: ["benchmarks", benchId, "cases", which],
    queryFn: ({ pageParam }) => hub.benchmarks.cases.query({ id: benchId, failed, offset: pageParam, limit: PAGE }),
    initialPageParam: 0,
    getNextPageParam: (page, pages) => {
      const shown = pages.reduce((sum, { rows }) => sum + rows.length, 0);
      return page.rows.length > 0 && shown < page.total ? shown : null;
    },
  });
  const rows = query.data?.pages.flatMap((page) => page.rows);
  const total = query.data?.pages.at(-1)?.total ?? 0;
  return (
    <Panel
      title="Cases"
      note={rows === undefined ? undefined : formatCount(total)}
      label="Cases"
      side={<FilterWords label="Cases" words={WORDS} value={which} onChange={setWhich} />}
    >
      <Listed
        query={query}
        rows={rows ?? null}
        loading={{ label: "Loading cases", rows: 3 }}
        empty={<p className="px-4 py-6 text-soft">{failed ? "None failed." : nothingWords(bench)}</p>}
        more="More"
      >
        {(shown) => (
          <ul className="divide-y divide-line">
            {shown.map((row) => (
              <CaseLine key={`${row.turnId} ${row.engine} ${row.direction} ${row.round}`} row={row} />
            ))}
          </ul>
        )}
      </Listed>
    </Panel>
  );
}

function CaseLine({ row }: { row: CaseView }) {
  const rate = useRate();
  const facts = [
    `${visibleText(row.nodeName)} to ${visibleText(row.profileName)}`,
    `round ${row.round}`,
    spanWords(row.tookMs),
    ...(row.loadMs === null ? [] : [`loaded in ${spanWords(row.loadMs)}`]),
    ...(row.peakBytes === null ? [] : [`${formatBytes(row.peakBytes)} of memory`]),
  ];
  return (
    <li className="px-4 py-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <div className="min-w-0 flex-1 basis-36 sm:basis-64">
          <div className="truncate">
            <span className="font-mid">{ENGINES[row.engine].title}</span>{" "}
            <span className="text-soft">{row.direction}</span>
          </div>
          <div className="nums text-12 text-faint sm:truncate">{facts.join(" · ")}</div>
        </div>
        {row.bytesPerSecond === null ? (
          <Tag tone="lost">{row.fault?.code ?? "failed"}</Tag>
        ) : (
          <span className="nums">{rate(row.bytesPerSecond)}</span>
        )}
      </div>
      {(row.fault !== null || row.log !== "") && (
        <details>
          <summary className="cursor-pointer text-12 text-soft hover:text-ink">What it said</summary>
          {row.fault !== null && <p className="mt-1 text-soft">{visibleText(sentenceOf(row.fault))}</p>}
          {row.log !== "" && (
            <pre className="mt-1 rounded-1 bg-sunk p-2 font-mono text-12 break-all whitespace-pre-wrap">
              {linesOf(row.log)}
            </pre>
          )}
        </details>
      )}
    </li>
  );
}

/** Escapes invisible characters but keeps line breaks. */
const linesOf = (text: string): string => text.split("\n").map(visibleText).join("\n");
