"use client";
import { useMemo, useRef } from "react";
import type { TensorFacts } from "#protocol/checkpoint/inspect.ts";
import { formatCount } from "#protocol/base/units.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { SearchField } from "../_ui/controls/search-field.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Cell, Row, SpacerRow, Table, type Column } from "../_ui/tables/table.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { useRowWindow } from "../_ui/tables/window-rows.ts";
import { orderOf, pickTensors, shapeWords, TENSOR_ORDERS } from "./inspect-words.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

const COLUMNS: readonly Column[] = [
  { key: "name", head: "Tensor" },
  { key: "dtype", head: "Dtype" },
  { key: "shape", head: "Shape", align: "right", from: "sm" },
  { key: "role", head: "For", from: "lg" },
  { key: "size", head: "Size", align: "right" },
];
const HEIGHT = 35;
const COMMANDS = TENSOR_ORDERS.map((id) => ({
  id,
  label: { file: "File order", name: "By name", size: "Largest first" }[id],
}));

interface TensorTableProps {
  tensors: readonly TensorFacts[];
  /** Number of tensors that `tensors` leaves out. */
  omitted: number;
  onMore: (() => void) | null;
}

/** Lists the tensors of a file with filter and order; only visible rows are drawn. */
export function TensorTable({ tensors, omitted, onMore }: TensorTableProps) {
  const [words, setWords] = useAddressWord("tensor", "", "same");
  const [word, setWord] = useAddressWord("order", "file");
  const order = orderOf(word);
  const frame = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => pickTensors(tensors, { words, order }), [tensors, words, order]);
  const shown = useRowWindow({ count: rows.length, rowHeight: HEIGHT, rows: frame });
  return (
    <Panel
      label="Tensors"
      title="Tensors"
      note={
        <span className="nums">
          {words === "" ? "" : `${formatCount(rows.length)} of `}
          {formatCount(tensors.length + omitted)}
        </span>
      }
      side={
        <>
          <FilterWords label="Order of tensors" words={COMMANDS} value={order} onChange={setWord} />
          <SearchField label="Filter tensors" value={words} onChange={setWords} placeholder="Name, dtype, shape" />
        </>
      }
    >
      {rows.length === 0 ? (
        <p className="px-4 py-6 text-soft">No tensor matches.</p>
      ) : (
        <div ref={frame}>
          <Table label="Tensors" columns={COLUMNS}>
            {shown.before > 0 && <SpacerRow columns={COLUMNS.length} height={shown.before} />}
            {rows.slice(shown.first, shown.end).map((tensor, row) => (
              // The index is part of the key, because a hostile file may repeat a name.
              <Row key={`${shown.first + row} ${tensor.name}`}>
                <Cell className="w-full max-w-0 truncate font-mono text-12" title={visibleText(tensor.name)}>
                  {visibleText(tensor.name)}
                </Cell>
                <Cell className="font-mono text-12 text-soft">{visibleText(tensor.dtype)}</Cell>
                <Cell from="sm" align="right" className="font-mono text-12 text-soft">
                  {shapeWords(tensor.shape)}
                </Cell>
                <Cell from="lg" className="text-soft">
                  {tensor.role}
                </Cell>
                <Cell align="right">{formatBytes(tensor.sizeBytes)}</Cell>
              </Row>
            ))}
            {shown.after > 0 && <SpacerRow columns={COLUMNS.length} height={shown.after} />}
          </Table>
        </div>
      )}
      {omitted > 0 && (
        <div className="nums flex flex-wrap items-center gap-3 border-t border-line px-4 py-2 text-soft">
          {formatCount(omitted)} more are in the file.
          {onMore !== null && (
            <Button size="small" look="quiet" onClick={onMore}>
              Fetch them
            </Button>
          )}
        </div>
      )}
    </Panel>
  );
}
