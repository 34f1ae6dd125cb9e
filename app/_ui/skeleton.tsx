import type { CSSProperties } from "react";
import { classNames } from "./class-names.ts";

export function Skeleton({ className, style }: { className?: string; style?: CSSProperties }) {
  return <span aria-hidden style={style} className={classNames("shimmer block rounded-1", className)} />;
}

/** Rows of a list that is on its way. */
export function SkeletonRows({ rows = 5, label = "Loading" }: { rows?: number; label?: string }) {
  return (
    <output aria-label={label} className="divide-y divide-line">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="flex items-center gap-6 px-4 py-[15px]">
          <Skeleton className="h-3 w-28" />
          <Skeleton className="h-3 w-20 max-sm:hidden" />
          <Skeleton className="h-3 w-40 max-md:hidden" />
          <Skeleton className="ml-auto h-3 w-16" />
        </div>
      ))}
    </output>
  );
}
