"use client";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { BenchList } from "../../_benchmarks/bench-list.tsx";
import { benchmarksQuery } from "../../_benchmarks/bench-queries.ts";
import { KeysPanel } from "../../_benchmarks/keys-panel.tsx";
import { useWhyNot } from "../../_hub/session/person.tsx";
import { PageHead } from "../../_shell/page-head.tsx";
import { Button } from "../../_ui/controls/button.tsx";
import { onDemand } from "../../_ui/loading/on-demand.tsx";

const StartDialog = onDemand(() => import("../../_benchmarks/start-dialog.tsx").then((module) => module.StartDialog));

/** Lists the benchmarks that compare tools, buckets and directions over the fleet. */
export function BenchmarksView() {
  const whyNot = useWhyNot("operator");
  // Content below the list is shown once the list has its height, so that it does not move.
  const benchmarks = useQuery(benchmarksQuery());
  const [isStarting, setStarting] = useState(false);
  return (
    <>
      <PageHead
        title="Benchmarks"
        about="The best tool and bucket for each place, measured on the nodes themselves."
        actions={
          <Button look="main" disabled={whyNot !== null} title={whyNot ?? undefined} onClick={() => setStarting(true)}>
            New benchmark…
          </Button>
        }
      />
      <BenchList />
      {!benchmarks.isPending && <KeysPanel />}
      {isStarting && <StartDialog onClose={() => setStarting(false)} />}
    </>
  );
}
