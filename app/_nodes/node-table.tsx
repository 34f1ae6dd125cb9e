"use client";
import { useRef } from "react";
import { useFrozenOrder } from "../_ui/freeze-order.ts";
import { SpacerRow, Table } from "../_ui/table.tsx";
import { useRowWindow } from "../_ui/window-rows.ts";
import { NODE_COLUMNS, NODE_ROW_HEIGHT, NodeRowView } from "./node-row.tsx";

/** Nodes in the wanted order, which stands still while the pointer or the focus is inside. Long lists draw what is seen. */
export function NodeTable({ ids, label }: { ids: readonly string[]; label: string }) {
  const order = useFrozenOrder(ids);
  const frame = useRef<HTMLDivElement>(null);
  const view = useRowWindow({ count: order.ids.length, rowHeight: NODE_ROW_HEIGHT, rows: frame });
  return (
    <div ref={frame} {...order.hold} data-frozen={order.frozen}>
      <Table label={label} columns={NODE_COLUMNS}>
        {view.before > 0 && <SpacerRow columns={NODE_COLUMNS.length} height={view.before} />}
        {order.ids.slice(view.first, view.end).map((id) => (
          <NodeRowView key={id} id={id} />
        ))}
        {view.after > 0 && <SpacerRow columns={NODE_COLUMNS.length} height={view.after} />}
      </Table>
    </div>
  );
}
