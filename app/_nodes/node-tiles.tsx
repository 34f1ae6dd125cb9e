"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { Link } from "../_ui/navigation/link.tsx";
import { memo, useRef } from "react";
import { isHeard } from "#protocol/fleet/node-status.ts";
import { useRate } from "../_hub/preferences/choices.ts";
import { useHubNow, useNode } from "../_hub/live/live.tsx";
import { backlogAge, nodeStateWords, tideOf, tideWords } from "../_hub/risk-words.ts";
import { useFrozenOrder } from "../_ui/tables/freeze-order.ts";
import { formatBytes } from "../_ui/text/sizes.ts";
import { Sparkline } from "../_ui/charts/sparkline.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { TideLine } from "../_ui/indicators/tide-line.tsx";
import { useWidth } from "../_ui/rendering/use-width.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { useRowWindow } from "../_ui/tables/window-rows.ts";
import { nodeFactsLine } from "./node-filter.ts";
import { tileRows } from "./tile-rows.ts";

const TILE = { leastWidth: 250, height: 132, gap: 12 };

/** Most tiles that are all drawn; longer lists draw only the visible rows. */
const WHOLE = 120;

interface NodeTilesProps {
  ids: readonly string[];
  label: string;
  /** Identifies the sort order that a person chose. */
  asked: string;
  choice: { chosen: ReadonlySet<string>; onChoose: (id: string) => void };
}

/** Shows nodes as tiles, in an order that is frozen while the pointer or the focus is inside. */
export function NodeTiles({ ids, label, asked, choice }: NodeTilesProps) {
  const order = useFrozenOrder(ids, asked);
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const { across, rows } = tileRows({
    count: order.ids.length,
    roomWidth: width,
    leastWidth: TILE.leastWidth,
    gap: TILE.gap,
  });
  const view = useRowWindow({ count: rows, rowHeight: TILE.height + TILE.gap, rows: frame, whole: WHOLE / across });
  return (
    <div className="p-3">
      <div ref={frame} {...order.hold} data-frozen={order.frozen}>
        <div style={{ height: view.before }} />
        {width > 0 && (
          <ul
            aria-label={label}
            className="grid"
            style={{
              gap: TILE.gap,
              gridTemplateColumns: `repeat(${across}, minmax(0, 1fr))`,
              gridAutoRows: TILE.height,
            }}
          >
            {order.ids.slice(view.first * across, view.end * across).map((id) => (
              <NodeTile key={id} id={id} chosen={choice.chosen.has(id)} onChoose={choice.onChoose} />
            ))}
          </ul>
        )}
        <div style={{ height: view.after }} />
      </div>
    </div>
  );
}

interface NodeTileProps {
  id: string;
  chosen: boolean;
  onChoose: (id: string) => void;
}

const NodeTile = memo(function NodeTile({ id, chosen, onChoose }: NodeTileProps) {
  const node = useNode(id);
  const now = useHubNow(1000);
  const rate = useRate();
  if (node === null) return null;
  const state = nodeStateWords(node, now);
  const tide = tideOf(node, node.state);
  const run = node.runs[0];
  const age = backlogAge(node.risk, now);
  return (
    <li className="relative flex min-w-0 flex-col justify-between gap-1 rounded-2 border border-line bg-panel px-3 py-2.5 hover:border-edge has-[a:focus-visible]:outline-2 has-[a:focus-visible]:outline-accent">
      <div className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <Link
            href={`/nodes/${encodeURIComponent(node.id)}`}
            data-row-link
            className="block truncate font-mid outline-none after:absolute after:inset-0"
          >
            {visibleText(node.name)}
          </Link>
          <div className="truncate text-12 text-faint">{visibleText(nodeFactsLine(node))}</div>
        </div>
        <Tag tone={state.tone}>{state.text}</Tag>
      </div>
      <div className="dim-when-stale">
        <TideLine tide={tide} label={tideWords(tide)} size="wide" />
      </div>
      <div className="nums flex items-center gap-2 text-12 text-soft">
        <span className="min-w-0 flex-1 truncate">
          <span className="normal-nums">{run === undefined ? "no run yet" : visibleText(run.run)}</span>
          {run !== undefined && run.localStep !== null && ` ${stepWords(run.localStep)}`}
        </span>
        <Sparkline values={node.upHistory} label={`upload rate of ${node.name}, last five minutes`} />
      </div>
      <div className="nums dim-when-stale flex items-center gap-2 text-12 text-faint">
        <span className="min-w-0 flex-1 truncate">
          {node.risk.bytes === 0 ? "nothing waits" : `${formatBytes(node.risk.bytes)} waits`}
          {age !== null && ` ${age}`}
          {isHeard(node.state) && node.upBytesPerSecond > 0 && ` · up ${rate(node.upBytesPerSecond)}`}
        </span>
        <input
          type="checkbox"
          aria-label={`Choose ${visibleText(node.name)}`}
          checked={chosen}
          onChange={() => onChoose(id)}
          className="relative z-10 block size-4 accent-accent"
        />
      </div>
    </li>
  );
});
