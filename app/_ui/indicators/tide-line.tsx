import { classNames } from "../rendering/class-names.ts";
import { tideShares, type Tide } from "./tide-shares.ts";

interface TideLineProps {
  tide: Tide;
  /** Accessible name: "18 GiB safe, 1 GiB moving, 3 GiB at risk". */
  label: string;
  size?: "row" | "wide";
}

/** Draws the tide gauge: safe bytes are below the line, bytes in flight cross it, and bytes at risk are above it. */
export function TideLine({ tide, label, size = "row" }: TideLineProps) {
  const { safe, moving, waiting } = tideShares(tide);
  const percent = (share: number): string => `${(share * 100).toFixed(2)}%`;
  return (
    <svg
      role="img"
      aria-label={label}
      height="20"
      className={classNames("block", size === "row" ? "w-14 sm:w-24" : "w-full min-w-24")}
    >
      {safe > 0 && <rect x="0" y="12" width={percent(safe)} height="6" rx="1" className="fill-safe" />}
      {moving > 0 && (
        <rect x={percent(safe)} y="6" width={percent(moving)} height="10" rx="1" className="fill-moving" />
      )}
      {waiting > 0 && (
        <rect x={percent(safe + moving)} y="2" width={percent(waiting)} height="7" rx="1" className="fill-risk" />
      )}
      <rect x="0" y="10" width="100%" height="1" className="fill-ink" fillOpacity=".6" />
    </svg>
  );
}
