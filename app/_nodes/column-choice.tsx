"use client";
import { Button } from "../_ui/controls/button.tsx";
import { columnsOf, NODE_COLUMNS, withColumn } from "./node-columns.ts";

interface ColumnChoiceProps {
  text: string | null;
  onChange: (text: string | null) => void;
}

/** Checkboxes for the columns of the node list. */
export function ColumnChoice({ text, onChange }: ColumnChoiceProps) {
  const shown = new Set(columnsOf(text).map(({ key }) => key));
  return (
    <>
      <ul className="grid grid-cols-2 gap-x-3">
        {NODE_COLUMNS.filter((column) => column.shown !== "always").map(({ key, name }) => (
          <li key={key}>
            <label className="flex min-h-[28px] items-center gap-2">
              <input
                type="checkbox"
                checked={shown.has(key)}
                onChange={() => onChange(withColumn(text, key))}
                className="size-4 shrink-0 accent-accent"
              />
              <span className="min-w-0">{name}</span>
            </label>
          </li>
        ))}
      </ul>
      <p className="pt-2 text-12 text-faint">
        Kept in this browser. Narrow windows show fewer.
        {text !== null && (
          <Button size="small" look="quiet" onClick={() => onChange(null)}>
            The usual ones
          </Button>
        )}
      </p>
    </>
  );
}
