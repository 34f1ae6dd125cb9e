import { PLACES } from "./places.ts";
import type { Entry, PaletteScope } from "./palette-entry.ts";
import { SECTIONS } from "./settings-sections.ts";

/** Makes the palette's entries for pages and settings. */

/** Pages that the navigation does not list, and parts of pages. */
const PARTS: readonly { href: string; text: string; role?: "admin" }[] = [
  { href: "/nodes?show=risk", text: "Nodes at risk" },
  { href: "/nodes?show=silent", text: "Silent nodes" },
  { href: "/losses", text: "Lost work" },
  { href: "/adopt", text: "Found in the bucket" },
  { href: "/transfers?show=failed", text: "Failed transfers" },
  { href: "/alerts?show=rules", text: "Alert rules" },
  { href: "/alerts?show=channels", text: "Alert channels" },
  { href: "/alerts?show=history", text: "Alert history" },
];

/** Returns the pages that the person may see. */
export const pageEntries = ({ isAdmin, go }: PaletteScope): Entry[] =>
  [
    ...PLACES.map(({ href, label }) => ({ href, text: label })),
    ...PARTS.filter(({ role }) => role === undefined || isAdmin),
  ].map(({ href, text }): Entry => ({ id: href, kind: "page", text, choose: go(href) }));

/** Returns the settings sections that the person may see. */
export const sectionEntries = (scope: PaletteScope): Entry[] =>
  SECTIONS.filter(({ role }) => role === undefined || scope.isAdmin).map(({ href, text, also }): Entry => ({
    id: `section ${href}`,
    kind: "setting",
    text,
    also,
    note: "Settings",
    choose: scope.go(href),
  }));

interface HubSetting {
  name: string;
  about: string;
  group: string;
}

/** Returns each setting of the hub; none before something is typed. */
export const settingEntries = (settings: readonly HubSetting[], scope: PaletteScope): Entry[] =>
  (scope.words === "" ? [] : settings).map(({ name, about, group }): Entry => ({
    id: `setting ${name}`,
    kind: "setting",
    text: name,
    also: about,
    note: group,
    choose: scope.go(`/settings?show=hub&q=${encodeURIComponent(name)}`),
  }));
