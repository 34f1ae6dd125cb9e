"use client";
import { useRef } from "react";
import { useFrozenOrder } from "../_ui/freeze-order.ts";
import { SpacerRow, Table, type TableSort } from "../_ui/table.tsx";
import { useRowWindow } from "../_ui/window-rows.ts";
import { NODE_COLUMNS, NODE_ROW_HEIGHT, NodeRowView } from "./node-row.tsx";

interface NodeTableProps {
  ids: readonly string[];
  label: string;
  /** Where nodes can be chosen, to do something with all of them. */
  sort?: TableSort;
  choice?: { chosen: ReadonlySet<string>; onChoose: (id: string) => void };
}

const CHOICE_COLUMN = { key: "choice", head: "", label: "Chosen" };

/** Nodes in the wanted order, which stands still while the pointer or the focus is inside. Long lists draw what is seen. */
export function NodeTable({ ids, label, choice, sort }: NodeTableProps) {
  const order = useFrozenOrder(ids, `${sort?.column ?? ""} ${sort?.direction ?? ""}`);
  const frame = useRef<HTMLDivElement>(null);
  const columns = choice === undefined ? NODE_COLUMNS : [CHOICE_COLUMN, ...NODE_COLUMNS];
  const view = useRowWindow({ count: order.ids.length, rowHeight: NODE_ROW_HEIGHT, rows: frame });
  return (
    <div ref={frame} {...order.hold} data-frozen={order.frozen}>
      <Table label={label} columns={columns} sort={sort}>
        {view.before > 0 && <SpacerRow columns={columns.length} height={view.before} />}
        {order.ids.slice(view.first, view.end).map((id) => (
          <NodeRowView
            key={id}
            id={id}
            chosen={choice === undefined ? null : choice.chosen.has(id)}
            onChoose={choice?.onChoose}
          />
        ))}
        {view.after > 0 && <SpacerRow columns={columns.length} height={view.after} />}
      </Table>
    </div>
  );
}
