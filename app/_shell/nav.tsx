"use client";
import { Ellipsis } from "lucide-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "../_ui/navigation/link.tsx";
import { usePathname } from "next/navigation";
import { useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import { useMovingCount, useNodeCount } from "../_hub/live/live.tsx";
import { activeAlertsQuery } from "../_hub/queries/queries.ts";
import { classNames } from "../_ui/rendering/class-names.ts";
import { useGoingTo } from "../_ui/navigation/going.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { isAt, MORE, PLACES } from "./places.ts";

const MorePlaces = onDemand(() => import("./more-places.tsx").then((module) => module.MorePlaces));

/** Returns the current path, or the target of a navigation in progress, so that a click is answered at once. */
function usePlace(): string {
  const path = usePathname();
  return useGoingTo()?.split(/[?#]/, 1)[0] ?? path;
}

/** Shows a count behind a navigation entry. It renders by itself, because most updates change no count. */
function Count({ href }: { href: string }) {
  const nodes = useNodeCount();
  const moving = useMovingCount();
  const alerts = useQuery(activeAlertsQuery()).data?.total;
  const counts: Record<string, number | undefined> = { "/nodes": nodes, "/transfers": moving, "/alerts": alerts };
  const count = counts[href] ?? 0;
  return (
    count > 0 && <span className="nums ml-auto text-12 font-normal text-faint max-lg:hidden">{formatCount(count)}</span>
  );
}

/** Shows the navigation at the left on wide screens, with icons only on medium ones. */
export function SideNav() {
  const path = usePlace();
  return (
    <nav
      aria-label="Main"
      className="sticky top-0 flex h-dvh flex-col gap-0.5 border-r border-line bg-sunk px-2 py-4 max-md:hidden lg:px-3"
    >
      <Link
        href="/"
        className="flex items-center gap-2.5 px-2 pt-1 pb-4 text-15 font-semibold tracking-[-.01em] max-lg:justify-center"
      >
        <Brand />
        <span className="max-lg:sr-only">Tidemark</span>
      </Link>
      {PLACES.map((place) => (
        <Link
          key={place.href}
          href={place.href}
          aria-current={isAt(path, place.href) ? "page" : undefined}
          title={place.label}
          className={classNames(
            "flex items-center gap-2.5 rounded-md border px-2 py-1.5 max-lg:justify-center",
            place.href === "/settings" && "mt-auto",
            isAt(path, place.href)
              ? "border-line bg-panel font-mid text-ink"
              : "border-transparent text-soft hover:text-ink",
          )}
        >
          <place.icon size={16} strokeWidth={1.6} className="shrink-0" aria-hidden />
          <span className="max-lg:sr-only">{place.label}</span>
          <Count href={place.href} />
        </Link>
      ))}
    </nav>
  );
}

const NARROW_PLACE = "flex min-w-0 flex-col items-center gap-0.5 py-2 text-11 max-[400px]:tracking-[-.035em]";

/** Shows the navigation at the bottom of narrow screens. */
export function BottomNav() {
  const path = usePlace();
  const [isMore, setMore] = useState(false);
  return (
    <nav
      aria-label="Main"
      className="fixed inset-x-0 bottom-0 z-30 grid auto-cols-fr grid-flow-col border-t border-line bg-sunk pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {PLACES.filter(({ narrow }) => narrow !== "more").map((place) => (
        <Link
          key={place.href}
          href={place.href}
          aria-current={isAt(path, place.href) ? "page" : undefined}
          className={classNames(NARROW_PLACE, isAt(path, place.href) ? "font-mid text-accent" : "text-soft")}
        >
          <place.icon size={18} strokeWidth={1.6} aria-hidden />
          <span className="max-w-full truncate">{place.label}</span>
        </Link>
      ))}
      <button
        type="button"
        aria-haspopup="dialog"
        onClick={() => setMore(true)}
        className={classNames(
          NARROW_PLACE,
          MORE.some(({ href }) => isAt(path, href)) ? "font-mid text-accent" : "text-soft",
        )}
      >
        <Ellipsis size={18} strokeWidth={1.6} aria-hidden />
        <span className="max-w-full truncate">More</span>
      </button>
      {isMore && <MorePlaces onClose={() => setMore(false)} />}
    </nav>
  );
}

export function Brand() {
  return (
    <svg width="22" height="22" viewBox="0 0 22 22" aria-hidden className="shrink-0">
      <rect width="22" height="22" rx="6" className="fill-accent" />
      <path
        d="M3 13c2.7 0 2.7-2 5.3-2s2.7 2 5.4 2 2.6-2 5.3-2"
        className="stroke-accent-ink"
        strokeWidth="2"
        fill="none"
        strokeLinecap="round"
      />
      <path d="M6 7h10" className="stroke-accent-ink" strokeWidth="2" strokeLinecap="round" opacity=".6" />
    </svg>
  );
}
