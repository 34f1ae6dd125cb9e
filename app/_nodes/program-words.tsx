"use client";
import { isHeard } from "#protocol/fleet/node-status.ts";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { NodeWords } from "#protocol/fleet/node-words.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { hub } from "../_hub/queries/client.ts";
import { useHubNow } from "../_hub/live/live.tsx";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { Copy } from "../_ui/controls/copy.tsx";
import { LastLines } from "../_ui/layout/last-lines.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";

/** Polling interval in milliseconds. While somebody polls, the node reports at this pace. */
const EVERY_MS = 1_500;
/** Output older than this is marked as old. */
const OLD_MS = 8_000;

/** Shows the recent output of the training program on a node. */
export function ProgramWords({ nodeId }: { nodeId: string }) {
  const words = useQuery({
    queryKey: ["node", nodeId, "words"],
    queryFn: () => hub.nodes.words.query({ id: nodeId }),
    refetchInterval: EVERY_MS,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
  const now = useHubNow(1000);
  const { data } = words;
  const text = data?.text ?? null;
  return (
    <Panel
      title="Program"
      label="Program"
      note={data !== undefined && text !== null && <AgeTag words={data} now={now} />}
      side={text !== null && text !== "" && <Copy text={text} label="Copy what is shown" />}
    >
      {data === undefined && words.isError ? (
        <QueryFault query={words} />
      ) : data === undefined ? (
        <SkeletonRows rows={2} label="Loading what the program says" />
      ) : text === null ? (
        <p className="px-4 py-6 text-soft">{whyNothing(data)}</p>
      ) : (
        <LastLines label="Program output" text={text} />
      )}
    </Panel>
  );
}

function AgeTag({ words, now }: { words: NodeWords; now: number }) {
  const ageMs = words.at === null ? 0 : Math.max(0, now - words.at);
  if (!isHeard(words.state)) return <Tag tone="risk">as it was when the node was last heard</Tag>;
  return ageMs > OLD_MS ? <Tag tone="risk">as of {formatDuration(ageMs)} ago</Tag> : <Tag tone="moving">live</Tag>;
}

function whyNothing({ state }: NodeWords): string {
  return isHeard(state)
    ? "No output. Only programs that a node runs with “tidemark run”, without a terminal of their own, are shown here."
    : "The node does not answer, so the output of its program cannot be shown. If it ended, its final output is in Events.";
}
