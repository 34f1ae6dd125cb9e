import type { ComponentProps } from "react";
import { formatCount } from "#protocol/base/units.ts";
import { Cell } from "./table.tsx";

interface FailedCellProps extends Pick<ComponentProps<typeof Cell>, "from"> {
  failed: number;
  /** Of all that were tried, 0 to 1, where it is worth saying. */
  share?: number;
}

/** How many of what a row stands for failed; seen from afar when it is more than none. */
export function FailedCell({ failed, share, from = "always" }: FailedCellProps) {
  const percent = share === undefined ? "" : ` (${(share * 100).toFixed(1)} %)`;
  return (
    <Cell from={from} align="right" className={failed > 0 ? "text-lost" : "text-faint"}>
      {failed === 0 ? "none" : `${formatCount(failed)}${percent}`}
    </Cell>
  );
}
