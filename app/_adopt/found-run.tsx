"use client";
import { useId, useRef, useState } from "react";
import type { RecognisedRun } from "#protocol/recognition/recognise.ts";
import { formatCount } from "#protocol/base/units.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { TextInput } from "../_ui/controls/text-input.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { SpacerRow, Table, type Column } from "../_ui/tables/table.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { useRowWindow } from "../_ui/tables/window-rows.ts";
import { FoundStep } from "./found-step.tsx";
import { adoptable, suggestRun, whyNoRun } from "./found-runs.ts";

const COLUMNS: readonly Column[] = [
  { key: "step", head: "Step" },
  { key: "verdict", head: "Thought to be", from: "sm" },
  { key: "why", head: "Because", from: "md" },
  { key: "framework", head: "Written by", from: "lg" },
  { key: "size", head: "Size", align: "right", from: "sm" },
  { key: "age", head: "Age", align: "right", from: "lg" },
  { key: "actions", head: "", label: "Actions", align: "right" },
];
const HEIGHT = 43;
/** Most checkpoints that one click adopts; further ones need another click. */
const MOST_AT_ONCE = 100;

interface FoundRunProps {
  run: RecognisedRun;
  /** Ids of adopted checkpoints by their place in the bucket. */
  adopted: Readonly<Record<string, string>>;
  at: { profileId: string; bucket: string };
}

/** Shows the checkpoints found in one folder as the steps of a run. */
export function FoundRun({ run, adopted, at }: FoundRunProps) {
  const [name, setName] = useState(() => suggestRun(run.place, at.bucket));
  const nameId = useId();
  const wrong = whyNoRun(name);
  const ready = adoptable(run.steps, adopted).slice(0, MOST_AT_ONCE);
  const frame = useRef<HTMLDivElement>(null);
  const shown = useRowWindow({ count: run.steps.length, rowHeight: HEIGHT, rows: frame });
  const all = useAction(async () => {
    for (const { place, kind, step, verdict } of ready) {
      if (step !== null)
        await hub.adoptions.adopt.mutate({ profileId: at.profileId, run: name, place, kind, step, verdict });
    }
    return ready.length;
  });
  return (
    <Panel
      label={`Found in ${run.place === "" ? at.bucket : run.place}`}
      title={
        <span className="font-mono text-12 break-all">{run.place === "" ? "at the top" : visibleText(run.place)}</span>
      }
      note={<span className="nums">{formatCount(run.steps.length)}</span>}
      side={
        <>
          <label htmlFor={nameId} className="text-soft">
            as run
          </label>
          <div className="w-44">
            <TextInput
              id={nameId}
              kind="code"
              value={name}
              maxLength={64}
              aria-invalid={wrong === null ? undefined : true}
              title={wrong ?? undefined}
              onChange={(event) => setName(event.target.value)}
            />
          </div>
          {ready.length > 1 && (
            <Button
              size="small"
              disabled={wrong !== null || all.busy}
              onClick={() =>
                all.run(undefined, (count) => say("safe", `${formatCount(count)} checkpoints of ${name} were adopted.`))
              }
            >
              {all.busy ? "Adopting" : `Adopt ${formatCount(ready.length)}`}
            </Button>
          )}
        </>
      }
    >
      {wrong !== null && <p className="px-4 py-2 text-lost">{wrong}</p>}
      {all.fault !== null && (
        <div className="p-3">
          <FaultNote fault={all.fault} />
        </div>
      )}
      <div ref={frame}>
        <Table label={`Found in ${run.place}`} columns={COLUMNS}>
          {shown.before > 0 && <SpacerRow columns={COLUMNS.length} height={shown.before} />}
          {run.steps.slice(shown.first, shown.end).map((step) => (
            <FoundStep
              key={step.place}
              found={step}
              inside={run.place}
              checkpointId={adopted[step.place] ?? null}
              into={wrong === null ? { profileId: at.profileId, run: name } : null}
            />
          ))}
          {shown.after > 0 && <SpacerRow columns={COLUMNS.length} height={shown.after} />}
        </Table>
      </div>
    </Panel>
  );
}
