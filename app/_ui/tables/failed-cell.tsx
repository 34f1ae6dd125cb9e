import type { ComponentProps } from "react";
import { formatCount } from "#protocol/base/units.ts";
import { Cell } from "./table.tsx";

interface FailedCellProps extends Pick<ComponentProps<typeof Cell>, "from"> {
  failed: number;
  /** Failed share of all attempts, 0 to 1; absent when it is not worth showing. */
  share?: number;
}

/** Shows how many failed, highlighted when it is more than none. */
export function FailedCell({ failed, share, from = "always" }: FailedCellProps) {
  const percent = share === undefined ? "" : ` (${(share * 100).toFixed(1)} %)`;
  return (
    <Cell from={from} align="right" className={failed > 0 ? "text-lost" : "text-faint"}>
      {failed === 0 ? "none" : `${formatCount(failed)}${percent}`}
    </Cell>
  );
}
