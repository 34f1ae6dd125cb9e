import type { ComponentProps } from "react";
import { formatCount } from "#protocol/base/units.ts";
import { Cell } from "./table.tsx";

interface CountCellProps extends Omit<ComponentProps<typeof Cell>, "align" | "children"> {
  count: number;
}

/** A number of things, `4,500`, at the right edge of its column. */
export function CountCell({ count, ...rest }: CountCellProps) {
  return (
    <Cell {...rest} align="right">
      {formatCount(count)}
    </Cell>
  );
}
