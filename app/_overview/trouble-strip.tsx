"use client";
import { Link } from "../_ui/navigation/link.tsx";
import { formatCount } from "#protocol/base/units.ts";
import { classNames } from "../_ui/rendering/class-names.ts";
import { Mark } from "../_ui/indicators/mark.tsx";
import type { Trouble } from "./trouble.ts";

const LOOK = {
  lost: "border-lost/45 bg-lost-bg hover:border-lost",
  risk: "border-risk/45 bg-risk-bg hover:border-risk",
};

interface TroubleStripProps {
  troubles: readonly Trouble[];
  /** Whether all data has arrived. Only then an empty list means that nothing is wrong. */
  isWhole: boolean;
  /** Whether the headline above names training time that would be lost. */
  isTraining: boolean;
}

/**
 * Shows each problem with its count as a link. Without problems it shows one line of the same height, so that nothing moves
 * when a problem appears.
 */
export function TroubleStrip({ troubles, isWhole, isTraining }: TroubleStripProps) {
  if (troubles.length === 0)
    return (
      <p className="dim-when-stale flex min-h-[64px] items-center gap-3 rounded-2 border border-line px-4 py-3 text-soft">
        {isWhole && (
          <>
            <Mark tone="safe" className="scale-150" />
            <span>
              Nothing is wrong: every node reports and keeps up, and no alert is firing.
              {isTraining && " The work at risk was done since the newest checkpoints."}
            </span>
          </>
        )}
      </p>
    );
  return (
    <ul aria-label="What is wrong" className="dim-when-stale flex flex-wrap gap-3">
      {troubles.map((trouble) => (
        <li key={trouble.id} className="min-w-0 flex-1 basis-44">
          <Link
            href={trouble.href}
            className={classNames(
              "flex h-full min-h-[64px] items-center gap-3 rounded-2 border px-4 py-3",
              LOOK[trouble.tone],
            )}
          >
            <Mark tone={trouble.tone} className="scale-150" />
            <span className="nums text-28 font-semibold tracking-[-.02em]">{formatCount(trouble.count)}</span>
            <span className="min-w-0 text-ink">{trouble.words}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
