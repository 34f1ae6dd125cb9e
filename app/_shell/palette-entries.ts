"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import {
  chooseRateUnit,
  chooseSizeUnit,
  chooseTheme,
  chooseTimeZone,
  useRateUnit,
  useSizeUnit,
  useTimeZone,
} from "../_hub/preferences/choices.ts";
import { useNodes } from "../_hub/live/live.tsx";
import { hubSettingsQuery, profilesQuery, runsQuery } from "../_hub/queries/queries.ts";
import { roleAllows, usePerson } from "../_hub/session/person.tsx";
import { signOut } from "../_hub/session/sign-out.ts";
import { useGo } from "../_ui/navigation/going.tsx";
import { useDialogs } from "./dialogs.tsx";
import { useFoundSteps } from "./find-steps.ts";
import { act, type Entry, type PaletteScope } from "./palette-entry.ts";
import { bucketEntries, nodeActions, nodeEntries, runEntries, stepEntries } from "./palette-fleet.ts";
import { pageEntries, sectionEntries, settingEntries } from "./palette-places.ts";

/** Collects the entries of the command palette: pages, settings, nodes, runs, steps, tags, buckets, and actions on each. */

/** Returns the entries for the typed text. Actions on single nodes appear only after typing, because there may be thousands. */
export function usePaletteEntries(typed: string, onHelp: () => void): Entry[] {
  const person = usePerson();
  const nodes = useNodes();
  const runs = useQuery(runsQuery());
  const profiles = useQuery(profilesQuery());
  const found = useFoundSteps(typed.trim());
  const isAdmin = person !== null && roleAllows(person.role, "admin");
  const settings = useQuery({ ...hubSettingsQuery(), enabled: isAdmin });
  const dialogs = useDialogs();
  const openPage = useGo();
  const scope: PaletteScope = {
    words: typed.trim(),
    isAdmin,
    mayAct: person !== null && roleAllows(person.role, "operator"),
    go: (path) => () => openPage?.(path),
    restore: dialogs.restore,
    order: dialogs.order,
  };
  const actions = useActionEntries(scope, onHelp);
  const all = [...(nodes?.values() ?? [])].filter(({ state }) => state !== "revoked");
  return [
    ...pageEntries(scope),
    ...sectionEntries(scope),
    ...actions,
    ...stepEntries(found, scope),
    ...runEntries(runs.data ?? [], scope),
    ...nodeEntries(all, scope),
    ...nodeActions(all, scope),
    ...bucketEntries(profiles.data ?? [], scope),
    ...settingEntries(settings.data ?? [], scope),
  ];
}

/** Returns actions that every page offers, and the settings of this browser. */
function useActionEntries({ isAdmin, mayAct, go, restore }: PaletteScope, onHelp: () => void): Entry[] {
  const router = useRouter();
  const client = useQueryClient();
  const { addNode } = useDialogs();
  const rate = useRateUnit();
  const size = useSizeUnit();
  const zone = useTimeZone();
  return [
    ...(mayAct
      ? [
          act("add-node", "Add node", addNode),
          act("restore", "Restore a checkpoint", () => restore({ checkpointId: null, nodeId: null })),
          act("add-rule", "Add alert rule", go("/alerts?show=rules&rule=new")),
        ]
      : []),
    ...(isAdmin ? [act("add-bucket", "Add bucket profile", go("/buckets?add=1"))] : []),
    act("light", "Theme: light", () => chooseTheme("light")),
    act("dark", "Theme: dark", () => chooseTheme("dark")),
    act("system", "Theme: as the system", () => chooseTheme("system")),
    act("rate", rate === "bits" ? "Show rates in MB/s" : "Show rates in Mbps", () =>
      chooseRateUnit(rate === "bits" ? "bytes" : "bits"),
    ),
    act("size", size === "binary" ? "Show sizes in MB" : "Show sizes in MiB", () =>
      chooseSizeUnit(size === "binary" ? "decimal" : "binary"),
    ),
    act("zone", zone === "local" ? "Show times in UTC" : "Show local times", () =>
      chooseTimeZone(zone === "local" ? "utc" : "local"),
    ),
    { ...act("keys", "Keys", onHelp), note: "?" },
    act("sign-out", "Sign out", () => void signOut(client).then(() => router.replace("/sign-in"))),
  ];
}
