import type { NodeRow, TransferRow } from "#protocol/wire/views.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { byBacklogAge } from "../_hub/risk-words.ts";
import { tooSlowFor } from "../_nodes/sustain.ts";
import { firstOf } from "./first-of.ts";

/**
 * What is wrong with the fleet, worst first: what is lost or may be, what fails now, what is too slow to keep up. All
 * well is an empty list. The same ranks put the nodes in order, so that the failing and the slow ones come first.
 */

export interface Trouble {
  id: "lost" | "silent" | "unconfirmed" | "failing" | "risk" | "slow" | "failed" | "alerts";
  tone: "risk" | "lost";
  count: number;
  /** After the count: `nodes are silent`. */
  words: string;
  href: string;
}

/** In the order in which they stand in lists. */
export type NodeRanks = Record<"lost" | "failing" | "silent" | "unconfirmed" | "risk" | "slow" | "well", NodeRow[]>;
type Rank = keyof NodeRanks;

/** How many nodes have which trouble, each counted once, as the worst that it is. */
export interface NodeTroubles {
  lost: number;
  silent: number;
  unconfirmed: number;
  failing: number;
  risk: number;
  slow: number;
  /** Training of those that are away. */
  lostMs: number;
}

interface Known {
  failedLastDay: number;
  nodes: NodeTroubles;
  isMoving: boolean;
  /** Null while it is not known. */
  alerts: number | null;
}

/** Nodes on which something stands still or was refused now. */
export function failingNodes(transfers: Iterable<TransferRow>): ReadonlySet<string> {
  const failing = new Set<string>();
  for (const row of transfers) {
    const stands = row.state === "running" && row.stalledMs !== null;
    const refused = row.fault !== null && (row.state === "running" || row.state === "waiting");
    if (stands || refused) failing.add(row.nodeId);
  }
  return failing;
}

const isLost = (node: NodeRow): boolean => node.state !== "revoked" && node.work === "lost";
const isSlow = (node: NodeRow): boolean => tooSlowFor(node) !== null;
const many = (count: number, one: string, more: string): string => (count === 1 ? one : more);

/**
 * Nodes by what is wrong with them, the worst rank first. A silent node whose work is lost is told once, as lost; one that
 * fails and is slow, as failing.
 */
export function rankNodes(nodes: Iterable<NodeRow>, failing: ReadonlySet<string>): NodeRanks {
  const ranks: NodeRanks = { lost: [], failing: [], silent: [], unconfirmed: [], risk: [], slow: [], well: [] };
  for (const node of nodes) ranks[rankOf(node, failing)].push(node);
  return ranks;
}

export function countTroubles(ranks: NodeRanks): NodeTroubles {
  const count = (rank: Rank): number => ranks[rank].filter(({ state }) => state !== "revoked").length;
  return {
    lost: count("lost"),
    silent: count("silent"),
    unconfirmed: count("unconfirmed"),
    failing: count("failing"),
    risk: count("risk"),
    slow: count("slow"),
    lostMs: ranks.lost.reduce((sum, { risk }) => sum + risk.lossMs, 0),
  };
}

export function troublesOf({ failedLastDay, nodes: found, isMoving, alerts }: Known): Trouble[] {
  const { lostMs } = found;
  const all: Trouble[] = [
    {
      id: "lost",
      tone: "lost",
      count: found.lost,
      words: `${many(found.lost, "node", "nodes")} offline with unsaved work${lostMs < 1000 ? "" : `, ${formatDuration(lostMs)} of training`}`,
      href: "/nodes?show=risk",
    },
    {
      id: "silent",
      tone: "lost",
      count: found.silent,
      words: many(found.silent, "node is silent", "nodes are silent"),
      href: "/nodes?show=silent",
    },
    {
      id: "failing",
      tone: "lost",
      count: found.failing,
      words: many(found.failing, "node cannot transfer now", "nodes cannot transfer now"),
      // Where they stand: what was given up for now waits.
      href: isMoving ? "/transfers" : "/transfers?show=waiting",
    },
    {
      id: "alerts",
      tone: "lost",
      count: alerts ?? 0,
      words: many(alerts ?? 0, "alert is firing", "alerts are firing"),
      href: "/alerts",
    },
    {
      id: "unconfirmed",
      tone: "risk",
      count: found.unconfirmed,
      words: many(found.unconfirmed, "node is late with its report", "nodes are late with their reports"),
      href: "/nodes?show=unconfirmed",
    },
    {
      id: "risk",
      tone: "risk",
      count: found.risk,
      words: many(found.risk, "node falling behind", "nodes falling behind"),
      href: "/nodes?show=risk",
    },
    {
      id: "slow",
      tone: "risk",
      count: found.slow,
      words: many(found.slow, "uplink can't keep up", "uplinks can't keep up"),
      href: "/nodes?sort=up",
    },
    {
      id: "failed",
      tone: "risk",
      count: failedLastDay,
      words: many(failedLastDay, "transfer failed in 24 h", "transfers failed in 24 h"),
      href: "/transfers?show=failed",
    },
  ];
  return all.filter(({ count }) => count > 0);
}

/**
 * The failing and the slow ones first, among them those whose oldest unsafe work waits longest. Of thousands only those that
 * are shown are put in order: a rank in which none is shown keeps the order it came in.
 */
export function byTrouble(ranks: NodeRanks, { passes, most }: Wanted): NodeRow[] {
  const sorted: NodeRow[] = [];
  for (const rank of Object.values(ranks)) {
    const nodes = rank.filter(passes);
    const lacking = most - sorted.length;
    for (const node of lacking > 0 ? firstOf(nodes, { most: lacking, compare: byBacklogAge }) : nodes)
      sorted.push(node);
  }
  return sorted;
}

interface Wanted {
  passes: (node: NodeRow) => boolean;
  /** So many, the first ones, are in order; those after them are not. */
  most: number;
}

function rankOf(node: NodeRow, failing: ReadonlySet<string>): Rank {
  if (isLost(node)) return "lost";
  if (node.state === "silent" || node.state === "unconfirmed") return node.state;
  if (failing.has(node.id)) return "failing";
  if (node.work === "risk") return "risk";
  return isSlow(node) ? "slow" : "well";
}
