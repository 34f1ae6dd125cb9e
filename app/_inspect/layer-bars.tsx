"use client";
import { useState } from "react";
import type { TensorTree } from "#protocol/checkpoint/inspect.ts";
import { formatCount } from "#protocol/base/units.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { classNames } from "../_ui/rendering/class-names.ts";
import { MoreRow } from "../_ui/tables/more-row.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { parameterWords } from "./inspect-words.ts";
import { layerLevel, type LayerRow } from "./layer-sizes.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

const ROWS_AT_FIRST = 40;

/** Shows the size of a model by layer, one level of the tensor names at a time. */
export function LayerBars({ tree }: { tree: TensorTree }) {
  const [at, setAt] = useAddressWord("layer", "");
  const [most, setMost] = useState(ROWS_AT_FIRST);
  const level = layerLevel(tree, at === "" ? [] : at.split("/"));
  const go = (path: readonly string[]) => setAt(path.join("/"));
  return (
    <Panel
      label="Size by layer"
      title="Size by layer"
      note={
        <nav aria-label="Layer" className="flex flex-wrap items-center gap-1 font-mono text-12">
          <button type="button" className="hover:text-ink hover:underline" onClick={() => go([])}>
            all
          </button>
          {level.path.map((name, depth) => (
            <span key={level.path.slice(0, depth + 1).join("/")} className="flex items-center gap-1">
              <span className="text-faint">/</span>
              <button
                type="button"
                className="hover:text-ink hover:underline"
                onClick={() => go(level.path.slice(0, depth + 1))}
              >
                {visibleText(name)}
              </button>
            </span>
          ))}
        </nav>
      }
    >
      <ul className="py-1.5" aria-label="Layers">
        {level.rows.slice(0, most).map((row) => (
          <LayerLine key={row.name} row={row} onGo={go} />
        ))}
      </ul>
      <MoreRow
        word={`Show all ${formatCount(level.rows.length)}`}
        onMore={level.rows.length > most ? () => setMost(level.rows.length) : null}
      />
    </Panel>
  );
}

function LayerLine({ row, onGo }: { row: LayerRow; onGo: (path: readonly string[]) => void }) {
  const { path } = row;
  return (
    <li className="nums grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 px-4 py-1 sm:grid-cols-[minmax(0,200px)_minmax(0,1fr)_220px]">
      {row.hasMore && path !== null ? (
        <button
          type="button"
          className="truncate text-left font-mono text-12 hover:underline"
          onClick={() => onGo(path)}
        >
          {visibleText(row.name)}
        </button>
      ) : (
        <span className={classNames("truncate text-12", path === null ? "text-faint" : "font-mono")}>
          {visibleText(row.name)}
        </span>
      )}
      <span aria-hidden className="h-1.5 rounded-1 bg-sunk max-sm:order-last max-sm:col-span-2">
        <svg width="100%" height="6" className="block">
          <rect width={`${Math.max(0.4, row.share * 100)}%`} height="6" rx="2" className="fill-edge" />
        </svg>
      </span>
      <span className="text-right text-12 text-soft" title={`${formatCount(row.tensors)} tensors`}>
        {parameterWords(row.parameters)} parameters, {formatBytes(row.sizeBytes)}
      </span>
    </li>
  );
}
