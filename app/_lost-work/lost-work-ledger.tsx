"use client";
import { shownStep, stepWords } from "#protocol/checkpoint/step-words.ts";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "../_ui/navigation/link.tsx";
import { useState } from "react";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import type { LossRow } from "#protocol/history/losses.ts";
import { ClockTime } from "../_hub/live/age.tsx";
import { hub } from "../_hub/queries/client.ts";
import { useWhyNot } from "../_hub/session/person.tsx";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { MoreRow } from "../_ui/tables/more-row.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Cell, Row, Table, type Column } from "../_ui/tables/table.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { lossSentence, moneyWords } from "./lost-work-words.ts";
import { WeekBars } from "./week-bars.tsx";

const PriceForm = onDemand(() => import("./price-form.tsx").then((module) => module.PriceForm));

const PAGE = 50;
const WEEKS = 12;
const newest = (): number | null => null;

const columnsOf = (run: string | null): readonly Column[] => [
  { key: "when", head: "When" },
  ...(run === null ? [{ key: "run", head: "Run" }] : []),
  { key: "where", head: "Lost on", from: "sm" },
  { key: "by", head: "Goes on at", from: "md" },
  { key: "steps", head: "Steps", align: "right" },
  { key: "time", head: "Time", align: "right", edge: "narrow" },
  { key: "cost", head: "Cost", align: "right", from: "sm" },
];

/** Shows the cost of interruptions by week and one by one, for a run or, with null, for the fleet. */
export function LostWorkLedger({ run }: { run: string | null }) {
  const whyNot = useWhyNot("operator");
  const [pricing, setPricing] = useState(false);
  const summary = useQuery({
    queryKey: ["runs", "losses", run, "summary"],
    queryFn: () => hub.losses.summary.query({ run, weeks: WEEKS }),
    refetchInterval: 60_000,
  });
  const rows = useInfiniteQuery({
    queryKey: ["runs", "losses", run, "rows"],
    queryFn: ({ pageParam }) => hub.losses.list.query({ run, nodeId: null, before: pageParam, limit: PAGE }),
    initialPageParam: newest(),
    getNextPageParam: (page) => (page.length < PAGE ? null : (page.at(-1)?.at ?? null)),
  });
  const { data } = summary;
  const listed = rows.data?.pages.flat() ?? [];
  const fault = [summary, rows].find((query) => query.isError && query.data === undefined);
  const week = data?.weeks.at(-1);
  return (
    <Panel
      label="Lost work"
      title="Lost work"
      note={week !== undefined && <span className="nums">this week {lossSentence(week)}</span>}
      side={
        data !== undefined && (
          <Button
            look="quiet"
            size="small"
            disabled={whyNot !== null}
            title={whyNot ?? undefined}
            onClick={() => setPricing(!pricing)}
          >
            {data.price === null
              ? "Set a price…"
              : `${data.price.perHour} ${data.price.currency} per node-hour${run !== null && data.price.of === "fleet" ? ", of all runs" : ""}`}
          </Button>
        )
      }
    >
      {pricing && data !== undefined && <PriceForm run={run} price={data.price} onDone={() => setPricing(false)} />}
      {fault !== undefined ? (
        <QueryFault query={fault} />
      ) : data === undefined || rows.data === undefined ? (
        <SkeletonRows rows={3} label="Loading lost work" />
      ) : listed.length === 0 ? (
        <Empty title="Nothing was lost">
          When a node is interrupted and training continues from a safe step, the repeated work is listed here.
        </Empty>
      ) : (
        <>
          <WeekBars weeks={data.weeks} />
          <p className="nums border-b border-line px-4 pb-2.5 text-soft">
            In {WEEKS} weeks {lossSentence(data.total)}.
          </p>
          <Table label="Lost work" columns={columnsOf(run)}>
            {listed.map((loss) => (
              <LossLine key={loss.id} loss={loss} show={run === null ? "run" : "all of one run"} />
            ))}
          </Table>
        </>
      )}
      <MoreRow
        word="Earlier"
        onMore={rows.hasNextPage ? () => void rows.fetchNextPage() : null}
        state={rows.isFetchingNextPage ? "loading" : "idle"}
        note={rows.hasNextPage ? `${formatCount(listed.length)} shown` : undefined}
      />
    </Panel>
  );
}

function LossLine({ loss, show }: { loss: LossRow; show: "run" | "all of one run" }) {
  const from = loss.fromStep === null ? "its beginning" : stepWords(loss.fromStep);
  return (
    <Row>
      <Cell className="whitespace-nowrap text-soft">
        <ClockTime at={loss.at} />
      </Cell>
      {show === "run" && (
        <Cell className="max-w-36 truncate">
          <Link href={`/runs/${encodeURIComponent(loss.run)}`} className="font-mid hover:underline">
            {visibleText(loss.run)}
          </Link>
        </Cell>
      )}
      <Cell from="sm" className="max-w-36 truncate">
        {visibleText(loss.nodeName ?? "a node that is forgotten")}
      </Cell>
      <Cell from="md" className="nums text-soft">
        {from}
        {loss.byNodeId !== loss.nodeId && ` on ${visibleText(loss.byNodeName ?? "another node")}`}
      </Cell>
      <Cell align="right">
        {loss.isEstimated && loss.lostSteps === 0 ? "unknown" : formatCount(loss.lostSteps)}
        <div className="text-11 text-faint">
          {loss.isEstimated ? "about, " : ""}to {shownStep(loss.lastStep)}
        </div>
      </Cell>
      <Cell align="right" className="max-sm:pr-4">
        {formatDuration(loss.lostMs)}
      </Cell>
      <Cell from="sm" align="right">
        {loss.cost === null ? "–" : moneyWords(loss.cost)}
      </Cell>
    </Row>
  );
}
