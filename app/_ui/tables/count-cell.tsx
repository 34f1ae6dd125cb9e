import type { ComponentProps } from "react";
import { formatCount } from "#protocol/base/units.ts";
import { Cell } from "./table.tsx";

interface CountCellProps extends Omit<ComponentProps<typeof Cell>, "align" | "children"> {
  count: number;
}

/** Shows a right-aligned count, such as `4,500`. */
export function CountCell({ count, ...rest }: CountCellProps) {
  return (
    <Cell {...rest} align="right">
      {formatCount(count)}
    </Cell>
  );
}
