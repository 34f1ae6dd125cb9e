"use client";
import { isHeard } from "#protocol/fleet/node-status.ts";
import { useDeferredValue, useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import type { NodeRow } from "#protocol/wire/views.ts";
import { useAddressWord } from "../../_hub/address/address.ts";
import { useNodes } from "../../_hub/live/live.tsx";
import { matchesWords, NODE_FILTERS, parseNodeFilter, passesFilter } from "../../_nodes/node-filter.ts";
import { nextOrder, nodeOrderOf, SORTABLE } from "../../_nodes/node-order.ts";
import { createSorter } from "../../_nodes/sort-again.ts";
import { ListTools, useNodeColumns } from "../../_nodes/list-tools.tsx";
import { columnsOf } from "../../_nodes/node-columns.ts";
import { Button } from "../../_ui/controls/button.tsx";
import { FilterWords } from "../../_ui/controls/filter-words.tsx";
import { Empty, Panel } from "../../_ui/layout/panel.tsx";
import { PageHead } from "../../_shell/page-head.tsx";
import { SearchField } from "../../_ui/controls/search-field.tsx";
import { SkeletonRows } from "../../_ui/loading/skeleton.tsx";
import { useDialogs } from "../../_shell/dialogs.tsx";
import { useWhyNot } from "../../_hub/session/person.tsx";
import { onDemand } from "../../_ui/loading/on-demand.tsx";

// Only the chosen view is loaded.
const NodeTable = onDemand(
  () => import("../../_nodes/node-table.tsx").then((module) => module.NodeTable),
  () => <SkeletonRows rows={8} label="Loading nodes" />,
);
const NodeTiles = onDemand(
  () => import("../../_nodes/node-tiles.tsx").then((module) => module.NodeTiles),
  () => <SkeletonRows rows={8} label="Loading nodes" />,
);
const CommandDialog = onDemand(() =>
  import("../../_commands/command-dialog.tsx").then((module) => module.CommandDialog),
);

/** Lists all nodes, by default those with the oldest unsafe capture first. */
export function NodesView() {
  const nodes = useNodes();
  const dialogs = useDialogs();
  const [show, setShow] = useAddressWord("show", "all");
  const [typed, setTyped] = useAddressWord("q", "", "same");
  const [sortWord, setSort] = useAddressWord("sort", "");
  const [viewWord, setView] = useAddressWord("view", "table");
  const view = viewWord === "tiles" ? "tiles" : "table";
  const [columnsText] = useNodeColumns();
  const columns = columnsOf(columnsText);
  const order = nodeOrderOf(sortWord);
  const filter = parseNodeFilter(show);
  const words = useDeferredValue(typed);
  const all = [...(nodes?.values() ?? [])];
  const found = words === "" ? all : all.filter((node) => matchesWords(node, words));
  const [sort] = useState(() => createSorter<NodeRow>());
  const ids = sort(
    found.filter((node) => passesFilter(node, filter)),
    order.compare,
  ).map((node) => node.id);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [ordering, setOrdering] = useState(false);
  // Selected nodes that the list no longer contains are ignored: a command only reaches nodes in the list.
  const meant = ids.filter((id) => chosen.has(id));
  const choose = (id: string): void => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  const online = all.filter((node) => isHeard(node.state)).length;

  return (
    <>
      <PageHead
        title="Nodes"
        about={
          nodes === null
            ? ""
            : `${formatCount(online)} of ${formatCount(all.filter((node) => node.state !== "revoked").length)} online, ${order.words}`
        }
        actions={
          <Button look="main" onClick={dialogs.addNode}>
            Add node
          </Button>
        }
      />
      <Panel label="Nodes">
        <div className="relative flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-2">
          <SearchField label="Filter nodes" value={typed} onChange={setTyped} placeholder="Name, GPU, run, label" />
          <FilterWords
            label="Show"
            value={filter}
            onChange={setShow}
            words={NODE_FILTERS.map((one) => ({
              ...one,
              count: nodes === null ? undefined : found.filter((node) => passesFilter(node, one.id)).length,
            })).filter(
              (word) => word.id === "all" || word.id === "risk" || word.id === filter || (word.count ?? 0) > 0,
            )}
          />
          <ListTools view={view} onView={setView} sort={sortWord} onSort={setSort} />
        </div>
        {meant.length > 0 && (
          <ChosenBar
            chosen={meant.length}
            all={ids.length}
            onAll={() => setChosen(new Set(ids))}
            onNone={() => setChosen(new Set())}
            onOrder={() => setOrdering(true)}
          />
        )}
        {nodes === null ? (
          <SkeletonRows rows={8} label="Loading nodes" />
        ) : all.length === 0 ? (
          <NoNodes onAdd={dialogs.addNode} />
        ) : ids.length === 0 ? (
          <NoMatch
            known={all.length}
            isTyped={typed !== ""}
            onClear={() => {
              if (typed !== "") setTyped("");
              else setShow("all");
            }}
          />
        ) : view === "tiles" ? (
          <NodeTiles ids={ids} label="Nodes" asked={sortWord} choice={{ chosen, onChoose: choose }} />
        ) : (
          <NodeTable
            ids={ids}
            label="Nodes"
            columns={columns}
            choice={{ chosen, onChoose: choose }}
            sort={{
              keys: SORTABLE,
              column: order.column,
              direction: order.direction,
              onPress: (key) => setSort(nextOrder(order, key)),
            }}
          />
        )}
      </Panel>
      {ordering && (
        <CommandDialog
          nodes={meant.flatMap((id) => {
            const node = nodes?.get(id);
            return node === undefined ? [] : [node];
          })}
          onClose={() => setOrdering(false)}
        />
      )}
    </>
  );
}

interface ChosenBarProps {
  /** Number of selected nodes; `all` is the length of the list. */
  chosen: number;
  all: number;
  onAll: () => void;
  onNone: () => void;
  onOrder: () => void;
}

/** Shows the number of selected nodes and the actions on them. */
function ChosenBar({ chosen, all, onAll, onNone, onOrder }: ChosenBarProps) {
  const mayNotOrder = useWhyNot("operator");
  return (
    <div className="sticky top-0 z-20 flex flex-wrap items-center gap-2 border-b border-line bg-sunk px-4 py-2">
      <output className="nums font-mid">{formatCount(chosen)} chosen</output>
      <span className="flex-1" />
      {chosen < all && (
        <Button size="small" look="quiet" onClick={onAll}>
          Choose all {formatCount(all)}
        </Button>
      )}
      <Button size="small" look="quiet" onClick={onNone}>
        Choose none
      </Button>
      <Button size="small" disabled={mayNotOrder !== null} title={mayNotOrder ?? undefined} onClick={onOrder}>
        Send command…
      </Button>
    </div>
  );
}

function NoNodes({ onAdd }: { onAdd: () => void }) {
  return (
    <Empty
      title="No node yet"
      action={
        <Button look="main" onClick={onAdd}>
          Add node
        </Button>
      }
    >
      A node is a machine that runs the Tidemark worker. Add one to keep its checkpoints safe.
    </Empty>
  );
}

function NoMatch({ known, isTyped, onClear }: { known: number; isTyped: boolean; onClear: () => void }) {
  return (
    <Empty
      title="No node matches"
      action={<Button onClick={onClear}>{isTyped ? "Clear the filter" : "Show all nodes"}</Button>}
    >
      {formatCount(known)} nodes are known; none fits this filter.
    </Empty>
  );
}
