import {
  Activity,
  ArrowUpDown,
  Bell,
  Database,
  Flag,
  Lightbulb,
  Gauge,
  List,
  Server,
  SlidersHorizontal,
  type LucideIcon,
} from "lucide-react";

/** The places of the hub, in the order in which the navigation shows them. */
export interface Place {
  href: string;
  label: string;
  icon: LucideIcon;
  /** Where it stands at the bottom of narrow screens: there is no room for all. */
  narrow?: "more";
}

export const PLACES: readonly Place[] = [
  { href: "/", label: "Overview", icon: Activity },
  { href: "/nodes", label: "Nodes", icon: Server },
  { href: "/runs", label: "Runs", icon: Flag },
  { href: "/buckets", label: "Buckets", icon: Database },
  { href: "/transfers", label: "Transfers", icon: ArrowUpDown },
  { href: "/alerts", label: "Alerts", icon: Bell },
  { href: "/advice", label: "Advice", icon: Lightbulb, narrow: "more" },
  { href: "/benchmarks", label: "Benchmarks", icon: Gauge, narrow: "more" },
  { href: "/events", label: "Events", icon: List, narrow: "more" },
  { href: "/settings", label: "Settings", icon: SlidersHorizontal, narrow: "more" },
];

/** The places that have no room at the bottom of narrow screens. */
export const MORE = PLACES.filter(({ narrow }) => narrow === "more");

/** Whether a page belongs to a place. */
export const isAt = (path: string, href: string): boolean =>
  href === "/"
    ? path === "/"
    : path === href || path.startsWith(`${href}/`) || (href === "/runs" && path.startsWith("/checkpoints/"));
