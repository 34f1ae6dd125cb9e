"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { BenchKeyView } from "#protocol/benchmarks/bench-key.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { benchKeysQuery } from "./bench-queries.ts";

const KeyDialog = onDemand(() => import("./key-dialog.tsx").then((module) => module.KeyDialog));

/** Shows the buckets at which engines that need a key may run, and the kind of key. Only an admin sets them. */
export function KeysPanel() {
  const query = useQuery(benchKeysQuery());
  const whyNot = useWhyNot("admin");
  const [chosen, setChosen] = useState<BenchKeyView | null>(null);
  return (
    <Panel title="Benchmark keys" note="for engines that can't use presigned URLs" label="Benchmark keys">
      {query.data === undefined && query.isError ? (
        <QueryFault query={query} />
      ) : query.data === undefined ? (
        <SkeletonRows rows={1} label="Loading benchmark keys" />
      ) : query.data.length === 0 ? (
        <Empty title="No bucket yet">Add a bucket first; then engines that need a key can be allowed there.</Empty>
      ) : (
        <ul className="divide-y divide-line">
          {query.data.map((row) => (
            <KeyLine key={row.profileId} row={row} whyNot={whyNot} onSet={() => setChosen(row)} />
          ))}
        </ul>
      )}
      <p className="border-t border-line px-4 py-3 text-soft">
        Tidemark and aria2c are given signatures and run everywhere. The others hold a key while they run, on machines
        of other people: let the store make one for each turn where it can; elsewhere give them one that opens nothing
        but a bucket for benchmarks, and remove it afterwards.
      </p>
      {chosen !== null && <KeyDialog bucket={chosen} onClose={() => setChosen(null)} />}
    </Panel>
  );
}

const wordOf = ({ kind, accessKeyHint, hasGrant }: BenchKeyView): string => {
  if (kind === null) return "none";
  const key = kind === "temporary" ? "a key for each turn" : `key …${visibleText(accessKeyHint ?? "")}`;
  return hasGrant ? `${key}, and grant` : key;
};

function KeyLine({ row, whyNot, onSet }: { row: BenchKeyView; whyNot: string | null; onSet: () => void }) {
  const client = useQueryClient();
  const remove = useAction(() => hub.benchmarks.removeKey.mutate({ id: row.profileId }));
  const name = visibleText(row.profileName);
  const has = row.kind !== null;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2">
      <span className="min-w-0 flex-1 basis-40 truncate font-mid">{name}</span>
      <Tag tone={has ? "safe" : "quiet"}>{wordOf(row)}</Tag>
      <span className="flex gap-1">
        <Button size="small" disabled={whyNot !== null} title={whyNot ?? undefined} onClick={onSet}>
          {has ? "Replace" : "Set"}
          <span className="sr-only"> the benchmark key of {name}</span>
        </Button>
        {has && (
          <Button
            size="small"
            look="quiet"
            disabled={whyNot !== null || remove.busy}
            onClick={() =>
              remove.run(undefined, () => {
                void client.invalidateQueries({ queryKey: ["benchmarks"] });
                say("safe", `The benchmark key of ${name} is removed.`);
              })
            }
          >
            Remove<span className="sr-only"> the benchmark key of {name}</span>
          </Button>
        )}
      </span>
      {remove.fault !== null && <FaultNote fault={remove.fault} />}
    </li>
  );
}
