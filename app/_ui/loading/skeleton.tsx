import type { CSSProperties } from "react";
import { classNames } from "../rendering/class-names.ts";

export function Skeleton({ className, style }: { className?: string; style?: CSSProperties }) {
  return <span aria-hidden style={style} className={classNames("shimmer block rounded-1", className)} />;
}

interface SkeletonRowsProps {
  rows?: number;
  label?: string;
  /** As high as table rows with two lines per cell, below a table head. */
  table?: boolean;
}

/** Shows placeholder rows of a list that is loading. */
export function SkeletonRows({ rows = 5, label = "Loading", table = false }: SkeletonRowsProps) {
  return (
    <output aria-label={label} className="block divide-y divide-line">
      {table && <div className="h-[33px]" />}
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className={classNames("flex items-center gap-6 px-4", table ? "h-[50px]" : "py-[15px]")}>
          <Skeleton className="h-3 w-28" />
          <Skeleton className="h-3 w-20 max-sm:hidden" />
          <Skeleton className="h-3 w-40 max-md:hidden" />
          <Skeleton className="ml-auto h-3 w-16" />
        </div>
      ))}
    </output>
  );
}
