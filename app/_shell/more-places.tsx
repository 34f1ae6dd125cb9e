"use client";
import { usePathname } from "next/navigation";
import { classNames } from "../_ui/rendering/class-names.ts";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { Link } from "../_ui/navigation/link.tsx";
import { isAt, MORE } from "./places.ts";

/** Lists the pages that do not fit into the bottom navigation. */
export function MorePlaces({ onClose }: { onClose: () => void }) {
  const path = usePathname();
  return (
    <Dialog open onClose={onClose} title="More" width="narrow">
      <ul aria-label="More places" className="flex flex-col gap-0.5">
        {MORE.map((place) => (
          <li key={place.href}>
            <Link
              href={place.href}
              onClick={onClose}
              aria-current={isAt(path, place.href) ? "page" : undefined}
              className={classNames(
                "flex items-center gap-3 rounded-md px-2 py-2.5",
                isAt(path, place.href) ? "font-mid text-accent" : "text-ink hover:bg-sunk",
              )}
            >
              <place.icon size={18} strokeWidth={1.6} aria-hidden />
              {place.label}
            </Link>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
