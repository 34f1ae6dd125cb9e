import type { ReactNode } from "react";
import { classNames } from "../rendering/class-names.ts";
import { Mark, type Tone } from "./mark.tsx";

const LOOK: Record<Tone, string> = {
  safe: "bg-safe-bg text-safe",
  moving: "bg-moving-bg text-moving",
  risk: "bg-risk-bg text-risk",
  lost: "bg-lost-bg text-lost",
  quiet: "bg-sunk text-soft",
};

interface TagProps {
  tone: Tone;
  /** `plain` leaves the shape out, for words that are not a state. */
  kind?: "state" | "plain";
  children: ReactNode;
}

/** Shows a state as shape, hue and word. */
export function Tag({ tone, kind = "state", children }: TagProps) {
  return (
    <span
      className={classNames(
        kind === "state" && "dim-when-stale",
        "nums inline-flex max-w-full items-center gap-1.5 rounded-1 px-[7px] py-px text-12 leading-[18px] whitespace-nowrap",
        LOOK[tone],
      )}
    >
      {kind === "state" && <Mark tone={tone} />}
      <span className="truncate">{children}</span>
    </span>
  );
}
