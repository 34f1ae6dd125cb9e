"use client";
import { Link } from "../_ui/navigation/link.tsx";
import type { ReactNode } from "react";
import { formatCount } from "#protocol/base/units.ts";
import type { ProfileView } from "#protocol/wire/profile-views.ts";
import type { FleetView, NodeRow } from "#protocol/wire/views.ts";
import { EventsPanel } from "../_hub/events/events-panel.tsx";
import { TransferLine } from "../_hub/transfers/transfer-line.tsx";
import { useLiveTransfers } from "../_hub/live/live.tsx";
import { NodeTable } from "../_nodes/node-table.tsx";
import { useDialogs } from "../_shell/dialogs.tsx";
import { PageHead } from "../_shell/page-head.tsx";
import { Button, ButtonLink } from "../_ui/controls/button.tsx";
import { classNames } from "../_ui/rendering/class-names.ts";
import { Mark, type Tone } from "../_ui/indicators/mark.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

interface FirstStepsProps {
  fleet: FleetView;
  profiles: readonly ProfileView[];
  nodes: readonly NodeRow[];
}

/** Shows the three steps to the first safe checkpoint, with what is already done. */
export function FirstSteps({ fleet, profiles, nodes }: FirstStepsProps) {
  const dialogs = useDialogs();
  const transfers = [...(useLiveTransfers()?.values() ?? [])];
  const bucket = profiles[0];
  const active = nodes.filter((node) => node.state !== "revoked");
  const node = active[0];
  const step = bucket === undefined ? 1 : node === undefined ? 2 : 3;
  return (
    <>
      <PageHead title="Three steps to the first safe checkpoint." about="Each step turns green by itself." />
      <Panel label="First steps">
        <ol className="divide-y divide-line">
          <Step
            number={1}
            state={stateOf(step, 1)}
            title="A bucket of yours"
            about={
              bucket === undefined
                ? "Any S3-compatible store. The keys stay in the hub; nodes get short-lived signed requests for their own folder only."
                : `${visibleText(bucket.profile.name)} is set up.`
            }
            action={
              step === 1 ? (
                <ButtonLink href="/buckets?add=1" look="main">
                  Add bucket
                </ButtonLink>
              ) : (
                <ButtonLink href="/buckets" look="quiet">
                  Buckets
                </ButtonLink>
              )
            }
          />
          <Step
            number={2}
            state={stateOf(step, 2)}
            title="A node that trains"
            about={
              node === undefined ? (
                "One line in the container. No mounts, no privileges."
              ) : (
                <>
                  <Link href={`/nodes/${encodeURIComponent(node.id)}`} className="font-mid text-ink hover:underline">
                    {visibleText(node.name)}
                  </Link>{" "}
                  {active.length > 1 ? `and ${formatCount(active.length - 1)} more have joined.` : "has joined."}
                </>
              )
            }
            action={
              <Button look={step === 2 ? "main" : "quiet"} disabled={step === 1} onClick={dialogs.addNode}>
                {step === 3 ? "Add another" : "Add node"}
              </Button>
            }
          />
          <Step
            number={3}
            state={stateOf(step, 3)}
            title="The first checkpoint"
            about={
              step === 3 && fleet.activeTransfers > 0
                ? "It is on its way."
                : "Let the training program write one into the watched folder, or put any folder named checkpoint-1 there. It is noticed when it is complete."
            }
          />
        </ol>
      </Panel>
      {active.length > 0 && (
        <div className="grid items-start gap-5 min-[1180px]:grid-cols-[minmax(0,1fr)_320px]">
          <div className="flex min-w-0 flex-col gap-5">
            {transfers.length > 0 && (
              <Panel title="Transfers">
                <ul className="divide-y divide-line">
                  {transfers.slice(0, 5).map((row) => (
                    <TransferLine key={row.id} row={row} />
                  ))}
                </ul>
              </Panel>
            )}
            <Panel title="Nodes">
              <NodeTable ids={active.slice(0, 12).map((one) => one.id)} label="Nodes" />
            </Panel>
          </div>
          <EventsPanel nodeId={null} run={null} />
        </div>
      )}
    </>
  );
}

type StepState = "done" | "now" | "later";
const stateOf = (current: number, step: number): StepState =>
  step < current ? "done" : step === current ? "now" : "later";
const TONE: Record<StepState, Tone> = { done: "safe", now: "moving", later: "quiet" };
const WORD: Record<StepState, string> = { done: "done", now: "next", later: "later" };

interface StepProps {
  number: number;
  state: StepState;
  title: string;
  about: ReactNode;
  action?: ReactNode;
}

function Step({ number, state, title, about, action }: StepProps) {
  return (
    <li
      className="flex flex-wrap items-center gap-x-4 gap-y-3 px-4 py-4"
      aria-current={state === "now" ? "step" : undefined}
    >
      <Mark tone={TONE[state]} label={WORD[state]} />
      <div className={classNames("min-w-0 flex-1 basis-64", state === "later" && "opacity-70")}>
        <div className="font-mid">
          <span className="nums text-faint">{number}</span>&ensp;{title}
        </div>
        <div className="max-w-[70ch] text-soft">{about}</div>
      </div>
      {action}
    </li>
  );
}
