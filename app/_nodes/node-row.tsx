"use client";
import { Fragment, memo } from "react";
import { useRate } from "../_hub/preferences/choices.ts";
import { useNode } from "../_hub/live/live.tsx";
import { Cell, Row, type Column } from "../_ui/tables/table.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { NODE_CELLS } from "./node-cells.tsx";

export const NODE_ROW_HEIGHT = 51;

interface NodeRowProps {
  id: string;
  columns: readonly Column[];
  /** Null where nodes cannot be selected. */
  chosen?: boolean | null;
  onChoose?: ((id: string) => void) | undefined;
}

/** Shows one node. It renders only when this node changes; times in it render by themselves. */
export const NodeRowView = memo(function NodeRowView({ id, columns, chosen = null, onChoose }: NodeRowProps) {
  const node = useNode(id);
  const rate = useRate();
  if (node === null) return null;
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
      {columns.map(({ key }) => (
        <Fragment key={key}>{NODE_CELLS[key]?.({ node, rate })}</Fragment>
      ))}
    </Row>
  );
});
