"use client";
import { isHeard } from "#protocol/fleet/node-status.ts";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { NodeWords } from "#protocol/fleet/node-words.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { hub } from "../_hub/queries/client.ts";
import { useHubNow } from "../_hub/live/live.tsx";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { Copy } from "../_ui/controls/copy.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

/** Polling interval in milliseconds. While somebody polls, the node reports at this pace. */
const EVERY_MS = 1_500;
/** Output older than this is marked as old. */
const OLD_MS = 8_000;
/** Scrollable areas must be reachable by keyboard. */
const SCROLLS = { tabIndex: 0 } as const;
/** Distance from the end, in pixels, within which the view follows new output. */
const NEAR_PX = 24;

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
        <LastLines text={text} />
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

/** Shows text and follows its end until somebody scrolls up. */
function LastLines({ text }: { text: string }) {
  const area = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  // Without dependencies: this component only renders when the text changes.
  useEffect(() => {
    const element = area.current;
    if (element !== null && follows.current) element.scrollTop = element.scrollHeight;
  });
  return (
    <section
      ref={area}
      aria-label="Program output"
      {...SCROLLS}
      onScroll={(event) => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
        follows.current = scrollHeight - clientHeight - scrollTop < NEAR_PX;
      }}
      className="dim-when-stale h-64 overflow-y-auto bg-sunk px-4 py-2"
    >
      {text === "" ? (
        <p className="text-soft">No output yet.</p>
      ) : (
        <pre className="font-mono text-12 [overflow-wrap:anywhere] whitespace-pre-wrap">
          {text.split("\n").map(visibleText).join("\n")}
        </pre>
      )}
    </section>
  );
}
