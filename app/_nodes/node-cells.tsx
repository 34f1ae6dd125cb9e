import { stepWords } from "#protocol/checkpoint/step-words.ts";
import type { ReactNode } from "react";
import { isHeard } from "#protocol/fleet/node-status.ts";
import { formatDuration } from "#protocol/base/units.ts";
import type { NodeRow } from "#protocol/wire/views.ts";
import { useTimeWords } from "../_hub/live/live.tsx";
import { backlogAge, nodeStateWords, tideOf, tideWords } from "../_hub/risk-words.ts";
import { formatBytes } from "../_ui/text/sizes.ts";
import { Sparkline } from "../_ui/charts/sparkline.tsx";
import { Cell, RowLink, TwoLines } from "../_ui/tables/table.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { TideLine } from "../_ui/indicators/tide-line.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { nodeFactsLine } from "./node-filter.ts";

/** Input of a cell: the node, and the formatter for rates. */
interface About {
  node: NodeRow;
  rate: (bytesPerSecond: number) => string;
}

/** Shows text that depends on the time. It renders by itself, so that the row renders only when its node changes. */
const AsTimePasses = ({ words }: { words: (now: number) => string }) => useTimeWords(words);

const DASH = <span className="text-faint">–</span>;
const dimmed = (words: ReactNode) => <span className="dim-when-stale">{words}</span>;

/** Shows a dash while the node does not report, because its activity is unknown then. */
const whileHeard = (node: NodeRow, words: ReactNode) => dimmed(isHeard(node.state) ? words : DASH);
const rateWords = ({ node, rate }: About, bytesPerSecond: number) =>
  whileHeard(node, bytesPerSecond > 0 ? rate(bytesPerSecond) : <span className="text-faint">0</span>);

function RunWords({ runs }: Pick<NodeRow, "runs">) {
  const run = runs[0];
  if (run === undefined) return <span className="text-faint">no run yet</span>;
  const others = runs.length > 1 ? `and ${runs.length - 1} more` : null;
  const step = run.localStep === null ? "no checkpoint yet" : stepWords(run.localStep);
  return <TwoLines first={visibleText(run.run)} second={others ?? step} />;
}

/**
 * Cell renderer for each column of `node-columns.ts`. Cells with changing text reserve the width of the longest one, so that
 * columns do not move.
 */
export const NODE_CELLS: Readonly<Record<string, (about: About) => ReactNode>> = {
  node: ({ node }) => (
    <Cell className="max-w-0 w-[22%] max-md:w-2/5 lg:min-w-40">
      <TwoLines
        first={<RowLink href={`/nodes/${encodeURIComponent(node.id)}`}>{visibleText(node.name)}</RowLink>}
        second={<span className="normal-nums">{visibleText(nodeFactsLine(node))}</span>}
      />
    </Cell>
  ),
  run: ({ node }) => (
    <Cell from="md" className="max-w-0 w-[18%] lg:min-w-28">
      <RunWords runs={node.runs} />
    </Cell>
  ),
  tide: ({ node }) => (
    <Cell>
      <div className="dim-when-stale">
        <TideLine tide={tideOf(node, node.state)} label={tideWords(tideOf(node, node.state))} />
      </div>
    </Cell>
  ),
  backlog: ({ node: { risk } }) => (
    <Cell from="lg" align="right" className="min-w-[84px]">
      <div className="dim-when-stale">
        {risk.bytes === 0 ? <span className="text-faint">0</span> : formatBytes(risk.bytes)}
        {risk.oldestUnsafeAt !== null && (
          <div className="text-12 text-faint">
            <AsTimePasses words={(now) => backlogAge(risk, now) ?? ""} />
          </div>
        )}
      </div>
    </Cell>
  ),
  up: (about) => (
    <Cell from="lg" align="right" className="min-w-[88px]">
      {rateWords(about, about.node.upBytesPerSecond)}
    </Cell>
  ),
  spark: ({ node }) => (
    <Cell from="room">
      <Sparkline values={node.upHistory} label={`upload rate of ${node.name}, last five minutes`} />
    </Cell>
  ),
  down: (about) => (
    <Cell from="more room" align="right" className="min-w-[88px]">
      {rateWords(about, about.node.downBytesPerSecond)}
    </Cell>
  ),
  rtt: ({ node }) => (
    <Cell from="room" align="right" className="min-w-[72px] text-soft">
      {node.rttMs === null ? "–" : `${Math.round(node.rttMs)} ms`}
    </Cell>
  ),
  cpu: ({ node }) => (
    <Cell from="lg" align="right" className="text-soft">
      {node.cpuPercent === null ? DASH : dimmed(`${Math.round(node.cpuPercent)} %`)}
    </Cell>
  ),
  disk: ({ node }) => (
    <Cell from="lg" align="right">
      {node.disk === null ? (
        DASH
      ) : (
        <div className="dim-when-stale">
          {formatBytes(node.disk.freeBytes)}
          <div className="text-12 text-faint">of {formatBytes(node.disk.totalBytes)}</div>
        </div>
      )}
    </Cell>
  ),
  moving: ({ node }) => (
    <Cell from="lg" align="right">
      {whileHeard(node, node.activeTransfers === 0 ? <span className="text-faint">0</span> : node.activeTransfers)}
    </Cell>
  ),
  bucket: ({ node }) => (
    <Cell from="lg" className="max-w-36 truncate">
      {node.profileName === null ? DASH : visibleText(node.profileName)}
    </Cell>
  ),
  fleet: ({ node }) => (
    <Cell from="lg" className="max-w-36 truncate text-soft">
      {visibleText(node.fleet)}
    </Cell>
  ),
  version: ({ node }) => (
    <Cell from="lg" className="max-w-28 truncate text-soft">
      {visibleText(node.facts.workerVersion)}
    </Cell>
  ),
  seen: ({ node: { lastSeenAt, state } }) => (
    <Cell from="lg" align="right" className="text-soft">
      {isHeard(state) ? (
        dimmed("now")
      ) : lastSeenAt === null ? (
        DASH
      ) : (
        <AsTimePasses words={(now) => `${formatDuration(Math.max(0, now - lastSeenAt))} ago`} />
      )}
    </Cell>
  ),
  state: ({ node }) => {
    const { tone } = nodeStateWords(node, 0);
    return (
      <Cell align="right" className="lg:min-w-[124px]">
        <Tag tone={tone}>
          <AsTimePasses words={(now) => nodeStateWords(node, now).text} />
        </Tag>
        {node.risk.bytes > 0 && (
          <div className="nums pt-0.5 text-12 text-faint lg:hidden">{formatBytes(node.risk.bytes)}</div>
        )}
      </Cell>
    );
  },
};
