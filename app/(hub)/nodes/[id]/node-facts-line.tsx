"use client";
import { Link } from "../../../_ui/navigation/link.tsx";
import { Fragment, type ReactNode } from "react";
import type { NodeRow } from "#protocol/wire/views.ts";
import { Age } from "../../../_hub/live/age.tsx";
import { gpuOf, systemOf } from "../../../_nodes/node-filter.ts";
import { shortText, visibleText } from "../../../_ui/text/visible-text.ts";
import { formatBytes } from "../../../_ui/text/sizes.ts";

/** Shows the machine's self-reported facts in one line. Changing figures are in a line below, where their width moves nothing. */
export function NodeFactsLine({ node }: { node: NodeRow }) {
  const { facts, disk } = node;
  const parts: ReactNode[] = [
    visibleText(gpuOf(facts) ?? "no GPU"),
    ...(facts.labels["region"] === undefined ? [] : [visibleText(facts.labels["region"])]),
    `${facts.cpus} ${facts.cpus === 1 ? "CPU" : "CPUs"}, ${formatBytes(facts.memoryBytes)}`,
    ...Object.entries(facts.labels)
      .filter(([key]) => key !== "region" && key !== "gpu")
      .slice(0, 4)
      .map(([key, value]) => visibleText(`${key} ${value}`)),
    ...(facts.machineId === null
      ? []
      : [
          <Fragment key="machine">
            machine <span className="font-mono text-12">{shortText(facts.machineId, 14)}</span>
          </Fragment>,
        ]),
    visibleText(facts.hostname),
    <span key="system" title={visibleText(facts.platform)}>
      {visibleText(systemOf(facts.platform))}
    </span>,
    `worker ${visibleText(facts.workerVersion)}`,
    ...(disk === null ? [] : [`disk ${formatBytes(disk.freeBytes)} free of ${formatBytes(disk.totalBytes)}`]),
    ...(node.profileName === null
      ? []
      : [
          <Fragment key="profile">
            saves into{" "}
            <Link href="/buckets" className="font-mid text-ink hover:underline">
              {visibleText(node.profileName)}
            </Link>
          </Fragment>,
        ]),
  ];
  return (
    <span className="nums">
      {parts.map((part, index) => (
        // An index is a safe key here, because the parts are always rebuilt together.
        <Fragment key={index}>
          {index > 0 && <Dot />}
          <span className="inline-block max-w-full">{part}</span>
        </Fragment>
      ))}
      <span className="block">
        may write{" "}
        {node.mayWrite === null
          ? "the runs it named when it joined, and new ones"
          : visibleText(node.mayWrite.replaceAll(",", ", "))}
        <Dot />
        joined <Age at={node.enrolledAt} />
        <Dot />
        RTT {node.rttMs === null ? "–" : `${Math.round(node.rttMs)} ms`}
        <Dot />
        worker CPU {node.cpuPercent === null ? "–" : `${Math.round(node.cpuPercent)} %`}
      </span>
    </span>
  );
}

const Dot = () => <span className="text-faint"> · </span>;
