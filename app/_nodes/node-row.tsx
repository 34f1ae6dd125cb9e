"use client";
import { memo } from "react";
import { formatBytes, formatCount } from "#protocol/units.ts";
import { useRate } from "../_hub/choices.ts";
import { useHubNow, useNode } from "../_hub/live.tsx";
import { backlogAge, nodeStateWords, tideOf, tideWords } from "../_hub/risk-words.ts";
import { Sparkline } from "../_ui/sparkline.tsx";
import { Cell, Row, RowLink, TwoLines, type Column } from "../_ui/table.tsx";
import { Tag } from "../_ui/tag.tsx";
import { TideLine } from "../_ui/tide-line.tsx";
import { visibleText } from "../_ui/visible-text.ts";
import { nodeFactsLine } from "./node-filter.ts";

export const NODE_ROW_HEIGHT = 51;

export const NODE_COLUMNS: readonly Column[] = [
  { key: "node", head: "Node" },
  { key: "run", head: "Run", from: "md" },
  { key: "tide", head: "Tide" },
  { key: "backlog", head: "Backlog", align: "right", from: "lg" },
  { key: "up", head: "Up", align: "right", from: "lg" },
  { key: "spark", head: "", label: "Upload rate, five minutes", from: "xl" },
  { key: "down", head: "Down", align: "right", from: "xl" },
  { key: "rtt", head: "RTT", align: "right", from: "xl" },
  { key: "state", head: "State", align: "right" },
];

interface NodeRowProps {
  id: string;
  /** Null where nodes are not chosen. */
  chosen?: boolean | null;
  onChoose?: ((id: string) => void) | undefined;
}

/** One node. Draws again only when this node changed, or the clock moved. */
export const NodeRowView = memo(function NodeRowView({ id, chosen = null, onChoose }: NodeRowProps) {
  const node = useNode(id);
  const now = useHubNow(1000);
  const rate = useRate();
  if (node === null) return null;
  const state = nodeStateWords(node, now);
  const tide = tideOf(node);
  const run = node.runs[0];
  const age = backlogAge(node.risk, now);
  const live = node.state === "online";
  return (
    <Row className="h-[51px]">
      {chosen !== null && (
        <Cell className="w-9 pr-0">
          <input
            type="checkbox"
            aria-label={`Choose ${visibleText(node.name)}`}
            checked={chosen}
            onChange={() => onChoose?.(id)}
            className="relative z-10 block size-4 accent-accent"
          />
        </Cell>
      )}
      <Cell className="max-w-0 w-[22%] max-md:w-2/5">
        <TwoLines
          first={<RowLink href={`/nodes/${encodeURIComponent(node.id)}`}>{visibleText(node.name)}</RowLink>}
          second={visibleText(nodeFactsLine(node))}
        />
      </Cell>
      <Cell from="md" className="max-w-0 w-[18%]">
        {run === undefined ? (
          <span className="text-faint">no run yet</span>
        ) : (
          <TwoLines
            first={visibleText(run.run)}
            second={
              node.runs.length > 1
                ? `and ${node.runs.length - 1} more`
                : run.localStep === null
                  ? "no checkpoint yet"
                  : `step ${formatCount(run.localStep)}`
            }
          />
        )}
      </Cell>
      <Cell>
        <div className="dim-when-stale">
          <TideLine tide={tide} label={tideWords(tide)} />
        </div>
      </Cell>
      <Cell from="lg" align="right">
        <div className="dim-when-stale">
          {node.risk.bytes === 0 ? <span className="text-faint">0</span> : formatBytes(node.risk.bytes)}
          {age !== null && <div className="text-12 text-faint">{age}</div>}
        </div>
      </Cell>
      <Cell from="lg" align="right">
        <span className="dim-when-stale">
          {live && node.upBytesPerSecond > 0 ? (
            rate(node.upBytesPerSecond)
          ) : (
            <span className="text-faint">{live ? "0" : "–"}</span>
          )}
        </span>
      </Cell>
      <Cell from="xl">
        <Sparkline values={node.upHistory} label={`upload rate of ${node.name}, last five minutes`} />
      </Cell>
      <Cell from="xl" align="right">
        <span className="dim-when-stale">
          {live && node.downBytesPerSecond > 0 ? (
            rate(node.downBytesPerSecond)
          ) : (
            <span className="text-faint">{live ? "0" : "–"}</span>
          )}
        </span>
      </Cell>
      <Cell from="xl" align="right" className="text-soft">
        {node.rttMs === null ? "–" : `${Math.round(node.rttMs)} ms`}
      </Cell>
      <Cell align="right">
        <Tag tone={state.tone}>{state.text}</Tag>
        {node.risk.bytes > 0 && (
          <div className="nums pt-0.5 text-12 text-faint lg:hidden">{formatBytes(node.risk.bytes)}</div>
        )}
      </Cell>
    </Row>
  );
});
