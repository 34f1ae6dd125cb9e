import {
  Activity,
  ArrowUpDown,
  Bell,
  Database,
  Flag,
  Lightbulb,
  Gauge,
  Grid2x2,
  List,
  ListChecks,
  Server,
  SlidersHorizontal,
  type LucideIcon,
} from "lucide-react";

/** A page in the navigation. */
export interface Place {
  href: string;
  label: string;
  icon: LucideIcon;
  /** `more` moves the page into the More dialog on narrow screens. */
  narrow?: "more";
}

export const PLACES: readonly Place[] = [
  { href: "/", label: "Overview", icon: Activity },
  { href: "/nodes", label: "Nodes", icon: Server },
  { href: "/runs", label: "Runs", icon: Flag },
  { href: "/jobs", label: "Jobs", icon: ListChecks, narrow: "more" },
  { href: "/groups", label: "Groups", icon: Grid2x2, narrow: "more" },
  { href: "/buckets", label: "Buckets", icon: Database },
  { href: "/transfers", label: "Transfers", icon: ArrowUpDown },
  { href: "/alerts", label: "Alerts", icon: Bell },
  { href: "/advice", label: "Advice", icon: Lightbulb, narrow: "more" },
  { href: "/benchmarks", label: "Benchmarks", icon: Gauge, narrow: "more" },
  { href: "/events", label: "Events", icon: List, narrow: "more" },
  { href: "/settings", label: "Settings", icon: SlidersHorizontal, narrow: "more" },
];

/** Pages that do not fit into the bottom navigation. */
export const MORE = PLACES.filter(({ narrow }) => narrow === "more");

/** Returns whether a path belongs to a page. */
export const isAt = (path: string, href: string): boolean =>
  href === "/"
    ? path === "/"
    : path === href || path.startsWith(`${href}/`) || (href === "/runs" && path.startsWith("/checkpoints/"));
