"use client";
import { useQuery } from "@tanstack/react-query";
import { Link } from "../_ui/navigation/link.tsx";
import { usePathname } from "next/navigation";
import { stepWords, stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import { useNodeAt } from "../_hub/live/live.tsx";
import { benchmarkQuery } from "../_benchmarks/bench-queries.ts";
import { checkpointQuery, jobQuery, profilesQuery } from "../_hub/queries/queries.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { PLACES } from "./places.ts";

/** Shows the position of the page: "Nodes / gpu-7". */
export function Crumbs() {
  const path = usePathname();
  const [, first = "", second] = path.split("/");
  const id = second === undefined ? "" : decodeURIComponent(second);
  const node = useNodeAt(first === "nodes" ? id : "");
  const place =
    first === "checkpoints" || first === "compare" || first === "adopt" || first === "losses"
      ? PLACES.find((one) => one.href === "/runs")
      : PLACES.find((one) => one.href === `/${first}`);
  // Reads the cache only; the page itself runs these queries.
  const checkpoint = useQuery({ ...checkpointQuery(first === "checkpoints" ? id : ""), enabled: false }).data;
  const benchmark = useQuery({ ...benchmarkQuery(first === "benchmarks" ? id : ""), enabled: false }).data;
  const job = useQuery({ ...jobQuery(first === "jobs" ? id : ""), enabled: false }).data;
  const profiles = useQuery({ ...profilesQuery(), enabled: false }).data;
  const bucket = profiles?.find((profile) => profile.id === id)?.profile.name ?? "bucket";
  const names: Record<string, string> = {
    nodes: node?.name ?? "node",
    buckets: bucket,
    benchmarks: benchmark?.name ?? "benchmark",
    jobs: job?.name ?? "job",
    checkpoints: checkpoint === undefined ? "checkpoint" : stepWords(checkpoint.step, stepSourceOf(checkpoint.place)),
  };
  const leaf = names[first] ?? id;
  return (
    <div className="flex min-w-0 items-center gap-1.5 text-soft" aria-label="You are here">
      {place !== undefined &&
        (second === undefined ? (
          <span className="truncate">{place.label}</span>
        ) : (
          <>
            <Link href={place.href} className="hover:text-ink">
              {place.label}
            </Link>
            <span className="text-faint">/</span>
            {checkpoint !== undefined && (
              <>
                <Link href={`/runs/${encodeURIComponent(checkpoint.run)}`} className="truncate hover:text-ink">
                  {visibleText(checkpoint.run)}
                </Link>
                <span className="text-faint">/</span>
              </>
            )}
            <span className="truncate font-mid text-ink">{visibleText(leaf)}</span>
          </>
        ))}
    </div>
  );
}
