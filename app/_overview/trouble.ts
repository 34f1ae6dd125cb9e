import type { NodeRow, TransferRow } from "#protocol/wire/views.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { byBacklogAge } from "../_hub/risk-words.ts";
import { tooSlowFor } from "../_nodes/sustain.ts";
import { firstOf } from "./first-of.ts";

/**
 * Ranks the problems of the fleet, worst first: lost work, silent or failing nodes, then slow ones. A healthy fleet has none.
 * Nodes are sorted by the same ranks.
 */

export interface Trouble {
  id: "lost" | "silent" | "unconfirmed" | "failing" | "risk" | "slow" | "failed" | "alerts";
  tone: "risk" | "lost";
  count: number;
  /** Text after the count: `nodes are silent`. */
  words: string;
  href: string;
}

/** Nodes by rank, in the order of the list. */
export type NodeRanks = Record<"lost" | "failing" | "silent" | "unconfirmed" | "risk" | "slow" | "well", NodeRow[]>;
type Rank = keyof NodeRanks;

/** Number of nodes per problem; each node counts once, with its worst problem. */
export interface NodeTroubles {
  lost: number;
  silent: number;
  unconfirmed: number;
  failing: number;
  risk: number;
  slow: number;
  /** Training time lost on nodes that are gone, in milliseconds. */
  lostMs: number;
}

interface Known {
  failedLastDay: number;
  nodes: NodeTroubles;
  isMoving: boolean;
  /** Number of firing alerts; null while unknown. */
  alerts: number | null;
}

/** Returns the nodes with a transfer that is stalled or was refused. */
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
 * Ranks nodes by their worst problem. A silent node whose work is lost counts as lost only; one that fails and is slow counts
 * as failing.
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
      // Failing transfers wait between retries, so without moving ones they are in the waiting list.
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
 * Returns nodes by rank, and within a rank by the age of their oldest unsafe capture. Only the rows that are shown are sorted;
 * ranks beyond them stay unsorted.
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
  /** Number of leading rows that must be in order. */
  most: number;
}

function rankOf(node: NodeRow, failing: ReadonlySet<string>): Rank {
  if (isLost(node)) return "lost";
  if (node.state === "silent" || node.state === "unconfirmed") return node.state;
  if (failing.has(node.id)) return "failing";
  if (node.work === "risk") return "risk";
  return isSlow(node) ? "slow" : "well";
}
