"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { BenchView as Bench } from "#protocol/benchmarks/views.ts";
import { formatCount } from "#protocol/base/units.ts";
import { benchmarkQuery } from "../../../_benchmarks/bench-queries.ts";
import { BENCH_TONES, shareDone, spanWords } from "../../../_benchmarks/bench-words.ts";
import { EnginePanel } from "../../../_benchmarks/engine-panel.tsx";
import { RegionPanel } from "../../../_benchmarks/region-panel.tsx";
import { SpreadPanel } from "../../../_benchmarks/spread-panel.tsx";
import { Age } from "../../../_hub/live/age.tsx";
import { hub } from "../../../_hub/queries/client.ts";
import { ConfirmDialog } from "../../../_hub/actions/confirm-dialog.tsx";
import { FaultNote } from "../../../_hub/faults/fault-note.tsx";
import { faultOf } from "../../../_hub/faults/fault-of.ts";
import { useWhyNot } from "../../../_hub/session/person.tsx";
import { useAction } from "../../../_hub/actions/use-action.ts";
import { saveText } from "../../../_link-history/save-text.ts";
import { PageHead } from "../../../_shell/page-head.tsx";
import { Button } from "../../../_ui/controls/button.tsx";
import { onDemand } from "../../../_ui/loading/on-demand.tsx";
import { SkeletonRows } from "../../../_ui/loading/skeleton.tsx";
import { Tag } from "../../../_ui/indicators/tag.tsx";
import { visibleText } from "../../../_ui/text/visible-text.ts";
import { formatBytes } from "../../../_ui/text/sizes.ts";

const CasesPanel = onDemand(() => import("../../../_benchmarks/cases-panel.tsx").then((module) => module.CasesPanel));
const TurnsPanel = onDemand(() => import("../../../_benchmarks/turns-panel.tsx").then((module) => module.TurnsPanel));
const ComparePanel = onDemand(() =>
  import("../../../_benchmarks/compare-panel.tsx").then((module) => module.ComparePanel),
);

/** Shows one benchmark: progress, results, and the cases behind them. */
export function BenchView({ id }: { id: string }) {
  const query = useQuery(benchmarkQuery(id));
  if (query.data === undefined && query.isError) {
    return <FaultNote fault={faultOf(query.error)} onRetry={() => void query.refetch()} />;
  }
  if (query.data === undefined) return <SkeletonRows rows={6} label="Loading the benchmark" />;
  return <Shown bench={query.data} />;
}

function Shown({ bench }: { bench: Bench }) {
  const client = useQueryClient();
  const whyNot = useWhyNot("operator");
  const [isCancelling, setCancelling] = useState(false);
  const isRunning = bench.state === "running";
  const save = useAction((format: "csv" | "json") => hub.benchmarks.export.query({ id: bench.id, format }));
  const exportAs = (format: "csv" | "json") => save.run(format, ({ fileName, text }) => saveText(fileName, text));
  return (
    <>
      <PageHead
        title={visibleText(bench.name)}
        tag={
          <Tag tone={BENCH_TONES[bench.state]}>
            {isRunning ? `running, ${Math.floor(shareDone(bench) * 100)} %` : bench.state}
          </Tag>
        }
        about={<About bench={bench} />}
        actions={
          <>
            <Button disabled={save.busy} onClick={() => exportAs("csv")}>
              CSV
            </Button>
            <Button disabled={save.busy} onClick={() => exportAs("json")}>
              JSON
            </Button>
            {isRunning && (
              <Button disabled={whyNot !== null} title={whyNot ?? undefined} onClick={() => setCancelling(true)}>
                Cancel…
              </Button>
            )}
          </>
        }
      />
      {save.fault !== null && <FaultNote fault={save.fault} />}
      <EnginePanel bench={bench} />
      <SpreadPanel bench={bench} />
      <RegionPanel bench={bench} />
      <ComparePanel bench={bench} />
      <TurnsPanel bench={bench} />
      <CasesPanel bench={bench} />
      {isCancelling && (
        <ConfirmDialog
          title="Cancel this benchmark?"
          words={{ button: "Cancel it", busy: "Cancelling", keep: "Let it run" }}
          run={() => hub.benchmarks.cancel.mutate({ id: bench.id })}
          onDone={() => void client.invalidateQueries({ queryKey: ["benchmarks"] })}
          onClose={() => setCancelling(false)}
        >
          What was measured stays; what is under way stops, and what it put into the buckets is removed.
        </ConfirmDialog>
      )}
    </>
  );
}

function About({ bench }: { bench: Bench }) {
  const { settings, nodes, buckets, startedAt, endedAt } = bench;
  const rounds = settings.rounds === 1 ? "" : `, ${settings.rounds} rounds`;
  return (
    <>
      {formatBytes(settings.sizeBytes)} in parts of {formatBytes(settings.partBytes)}, {settings.connections} at a time
      {rounds}; {formatCount(nodes)} {nodes === 1 ? "node" : "nodes"}, {formatCount(buckets)}{" "}
      {buckets === 1 ? "bucket" : "buckets"}, order of seed {bench.seed}. Started <Age at={startedAt} /> by{" "}
      {visibleText(bench.actor)}
      {endedAt === null ? "" : `, took ${spanWords(endedAt - startedAt)}`}.
    </>
  );
}
