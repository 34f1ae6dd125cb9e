"use client";
import { useRef } from "react";
import { useFrozenOrder } from "../_ui/tables/freeze-order.ts";
import { SpacerRow, Table, type Column, type TableSort } from "../_ui/tables/table.tsx";
import { useRowWindow } from "../_ui/tables/window-rows.ts";
import { USUAL_COLUMNS } from "./node-columns.ts";
import { NODE_ROW_HEIGHT, NodeRowView } from "./node-row.tsx";

interface NodeTableProps {
  ids: readonly string[];
  /** Most rows shown. Default: all. */
  most?: number;
  label: string;
  /** Default: `USUAL_COLUMNS`. */
  columns?: readonly Column[];
  /** State and handler of sorting; absent where the list cannot be sorted. */
  sort?: TableSort;
  choice?: { chosen: ReadonlySet<string>; onChoose: (id: string) => void };
}

const CHOICE_COLUMN = { key: "choice", head: "", label: "Chosen" };

/** Lists nodes in an order that is frozen while the pointer or the focus is inside. Long lists draw only the visible rows. */
export function NodeTable({ ids, most = Infinity, label, columns = USUAL_COLUMNS, choice, sort }: NodeTableProps) {
  const order = useFrozenOrder(ids, `${sort?.column ?? ""} ${sort?.direction ?? ""}`);
  const frame = useRef<HTMLDivElement>(null);
  const heads = choice === undefined ? columns : [CHOICE_COLUMN, ...columns];
  const shown = order.ids.slice(0, most);
  const view = useRowWindow({ count: shown.length, rowHeight: NODE_ROW_HEIGHT, rows: frame });
  return (
    <div ref={frame} {...order.hold} data-frozen={order.frozen} className="@container overflow-x-auto">
      <Table label={label} columns={heads} sort={sort}>
        {view.before > 0 && <SpacerRow columns={heads.length} height={view.before} />}
        {shown.slice(view.first, view.end).map((id) => (
          <NodeRowView
            key={id}
            id={id}
            columns={columns}
            chosen={choice === undefined ? null : choice.chosen.has(id)}
            onChoose={choice?.onChoose}
          />
        ))}
        {view.after > 0 && <SpacerRow columns={heads.length} height={view.after} />}
      </Table>
    </div>
  );
}
