"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { formatCount } from "#protocol/base/units.ts";
import type { OrderKind } from "../_orders/order-form.ts";
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
import { roleAllows, usePerson } from "../_hub/session/person.tsx";
import { hubSettingsQuery, profilesQuery, runsQuery } from "../_hub/queries/queries.ts";
import { signOut } from "../_hub/session/sign-out.ts";
import { nodeFactsLine } from "../_nodes/node-filter.ts";
import { useGo } from "../_ui/navigation/going.tsx";
import { useDialogs } from "./dialogs.tsx";
import { PLACES } from "./places.ts";
import { useFoundSteps } from "./find-steps.ts";
import { SECTIONS } from "./settings-sections.ts";

/** Everything that can be reached by name: pages, settings, nodes, runs, steps, tags, buckets, and what can be done with each. */

export interface Entry {
  id: string;
  kind: "page" | "action" | "run" | "step" | "tag" | "node" | "bucket" | "keys" | "setting";
  text: string;
  /** Other words that it is found by. */
  also?: string | undefined;
  place?: "last";
  note?: string | undefined;
  choose: () => void;
}

/** Pages that the navigation does not name, and parts of pages. */
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

const NODE_ORDERS: readonly { kind: OrderKind; words: string }[] = [
  { kind: "hold", words: "Pause" },
  { kind: "release", words: "Resume" },
  { kind: "limit", words: "Limit" },
  { kind: "probe", words: "Measure the link of" },
  { kind: "flush", words: "Upload now from" },
  { kind: "retry-uploads", words: "Retry failed uploads of" },
  { kind: "drain", words: "Drain" },
  { kind: "reallocate", words: "Give back the machine of" },
];

/** What is offered for what was typed; what can be done with each of thousands of nodes only once something was. */
export function usePaletteEntries(typed: string, onHelp: () => void): Entry[] {
  const router = useRouter();
  const client = useQueryClient();
  const person = usePerson();
  const nodes = useNodes();
  const runs = useQuery(runsQuery());
  const profiles = useQuery(profilesQuery());
  const found = useFoundSteps(typed.trim());
  const settings = useQuery({ ...hubSettingsQuery(), enabled: person !== null && roleAllows(person.role, "admin") });
  const dialogs = useDialogs();
  const rate = useRateUnit();
  const size = useSizeUnit();
  const zone = useTimeZone();
  const openPage = useGo();
  const go = (path: string) => () => openPage?.(path);
  const isAdmin = person !== null && roleAllows(person.role, "admin");
  const mayAct = person !== null && roleAllows(person.role, "operator");
  const words = typed.trim();

  const actions: Entry[] = [
    ...(mayAct
      ? [
          act("add-node", "Add node", dialogs.addNode),
          act("restore", "Restore a checkpoint", () => dialogs.restore({ checkpointId: null, nodeId: null })),
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
  const ofRuns = (runs.data ?? []).flatMap((run): Entry[] => [
    {
      id: `run ${run.name}`,
      kind: "run",
      text: run.name,
      note: run.writerNodeName ?? undefined,
      choose: go(`/runs/${encodeURIComponent(run.name)}`),
    },
    ...(words === "" || !mayAct || run.newestCheckpointId === null
      ? []
      : [
          act(`restore ${run.name}`, `Restore ${run.name}`, () =>
            dialogs.restore({ checkpointId: run.newestCheckpointId, nodeId: null }),
          ),
          act(
            `compare ${run.name}`,
            `Compare the newest checkpoints of ${run.name}`,
            go(`/compare?to=${encodeURIComponent(run.newestCheckpointId)}`),
          ),
        ]),
  ]);
  const buckets = (profiles.data ?? []).flatMap(({ id, profile }): Entry[] => [
    {
      id: `bucket ${id}`,
      kind: "bucket",
      text: profile.name,
      note: profile.bucket,
      choose: go(`/buckets/${encodeURIComponent(id)}`),
    },
    ...(words === ""
      ? []
      : [
          {
            id: `keys ${id}`,
            kind: "keys" as const,
            place: "last" as const,
            text: `Keys with “${words}” in ${profile.name}`,
            choose: go(`/buckets/${encodeURIComponent(id)}?search=${encodeURIComponent(words)}`),
          },
        ]),
  ]);
  const all = [...(nodes?.values() ?? [])].filter(({ state }) => state !== "revoked");
  const ofNodes = all.map((node): Entry => ({
    id: `node ${node.id}`,
    kind: "node",
    text: node.name,
    note: nodeFactsLine(node),
    choose: go(`/nodes/${encodeURIComponent(node.id)}`),
  }));
  const toNodes =
    words === "" || !mayAct
      ? []
      : all
          .filter(({ name }) => anyIn(name, words))
          .flatMap((node) => [
            act(`restore to ${node.id}`, `Restore onto ${node.name}`, () =>
              dialogs.restore({ checkpointId: null, nodeId: node.id }),
            ),
            ...NODE_ORDERS.map(({ kind, words: verb }) =>
              act(`${kind} ${node.id}`, `${verb} ${node.name}`, () => dialogs.order({ nodeId: node.id, kind })),
            ),
          ]);
  const sections = SECTIONS.filter(({ role }) => role === undefined || isAdmin).map(({ href, text, also }): Entry => ({
    id: `section ${href}`,
    kind: "setting",
    text,
    also,
    note: "Settings",
    choose: go(href),
  }));
  // Each of the hub's own, once something was typed.
  const ofHub = (words === "" ? [] : (settings.data ?? [])).map(({ name, about, group }): Entry => ({
    id: `setting ${name}`,
    kind: "setting",
    text: name,
    also: about,
    note: group,
    choose: go(`/settings?show=hub&q=${encodeURIComponent(name)}`),
  }));
  const ofSteps = found.flatMap(({ id, run, step, state, tag }): Entry[] => [
    {
      id: `step ${id} ${tag ?? ""}`,
      kind: tag === null ? "step" : "tag",
      text: tag ?? `${run}, step ${formatCount(step)}`,
      also: tag === null ? String(step) : undefined,
      note: tag === null ? (state === "complete" ? undefined : state) : `${run}, step ${formatCount(step)}`,
      choose: go(`/checkpoints/${encodeURIComponent(id)}`),
    },
    ...(mayAct && tag === null && state === "complete"
      ? [
          {
            ...act(`restore step ${id}`, `Restore step ${formatCount(step)} of ${run}`, () =>
              dialogs.restore({ checkpointId: id, nodeId: null }),
            ),
            also: String(step),
          },
        ]
      : []),
  ]);
  return [
    ...PLACES.map(({ href, label }) => page(href, label)),
    ...PARTS.filter(({ role }) => role === undefined || isAdmin).map(({ href, text }) => page(href, text)),
    ...sections,
    ...actions,
    ...ofSteps,
    ...ofRuns,
    ...ofNodes,
    ...toNodes,
    ...buckets,
    ...ofHub,
  ];

  function page(href: string, text: string): Entry {
    return { id: href, kind: "page", text, choose: go(href) };
  }
}

/** Actions are offered for those that are named: with thousands of nodes, all of all would be too many. */
const anyIn = (name: string, typed: string): boolean =>
  typed
    .toLowerCase()
    .split(/\s+/)
    .some((word) => name.toLowerCase().includes(word));

const act = (id: string, text: string, choose: () => void): Entry => ({ id, kind: "action", text, choose });
