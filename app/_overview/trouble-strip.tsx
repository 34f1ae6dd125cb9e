"use client";
import Link from "next/link";
import { formatCount } from "#protocol/units.ts";
import { classNames } from "../_ui/class-names.ts";
import { Mark } from "../_ui/mark.tsx";
import type { Trouble } from "./trouble.ts";

const LOOK = {
  lost: "border-lost/45 bg-lost-bg hover:border-lost",
  risk: "border-risk/45 bg-risk-bg hover:border-risk",
};

/** What is wrong, each with its number and the way to it: to be seen from across the room. Nothing when all is well. */
export function TroubleStrip({ troubles }: { troubles: readonly Trouble[] }) {
  if (troubles.length === 0) return null;
  return (
    <ul aria-label="What is wrong" className="dim-when-stale flex flex-wrap gap-3">
      {troubles.map((trouble) => (
        <li key={trouble.id} className="min-w-0 flex-1 basis-44">
          <Link
            href={trouble.href}
            className={classNames("flex h-full items-center gap-3 rounded-2 border px-4 py-3", LOOK[trouble.tone])}
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
