"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { KeepPolicy, RunPolicyView } from "#protocol/retention/keeping.ts";
import { formatCount } from "#protocol/base/units.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { KeptVersions } from "./kept-versions.tsx";
import { policyQuery, previewQuery } from "./retention-queries.ts";
import { policyWords } from "./policy-words.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

const PolicyDialog = onDemand(() => import("./policy-dialog.tsx").then((module) => module.PolicyDialog));

/** Shows the retention policy of a run, and what goes to the trash when the hub applies it next. */
export function RetentionPanel({ run }: { run: string }) {
  const whyNot = useWhyNot("operator");
  const query = useQuery(policyQuery(run));
  const [editing, setEditing] = useState(false);
  const view = query.data;
  return (
    <Panel
      title="Retention"
      side={
        <Button
          size="small"
          disabled={view === undefined || whyNot !== null}
          title={whyNot ?? undefined}
          onClick={() => setEditing(true)}
        >
          Edit policy…
        </Button>
      }
    >
      {query.isError ? (
        <QueryFault query={query} />
      ) : view === undefined ? (
        <SkeletonRows rows={1} label="Loading the policy" />
      ) : (
        <Present run={run} view={view} />
      )}
      {editing && view !== undefined && <PolicyDialog run={run} view={view} onClose={() => setEditing(false)} />}
    </Panel>
  );
}

function Present({ run, view }: { run: string; view: RunPolicyView }) {
  const policy = view.own.policy ?? view.usual.policy;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2.5">
      <p className="min-w-0 flex-1 basis-64">
        {policyWords(policy)}{" "}
        {view.own.policy === null && view.usual.policy !== null && (
          <span className="text-faint">The default of all runs.</span>
        )}
      </p>
      {policy !== null && <NextLook run={run} policy={policy} />}
    </div>
  );
}

function NextLook({ run, policy }: { run: string; policy: KeepPolicy }) {
  const client = useQueryClient();
  const whyNot = useWhyNot("operator");
  const query = useQuery(previewQuery(run, policy));
  const apply = useAction(() => hub.keeping.applyNow.mutate({ run }));
  const next = query.data?.find((one) => one.run === run);
  const fault = apply.fault ?? apply.result?.fault ?? null;
  if (fault !== null) return <FaultNote fault={fault} onRetry={() => apply.reset()} />;
  if (next === undefined || next.goes === 0) return null;
  return (
    <>
      <span className="nums text-soft">
        {formatCount(next.goes)} {next.goes === 1 ? "goes" : "go"} at the hub's next look,{" "}
        {formatBytes(next.freedBytes)}
      </span>
      <Button
        size="small"
        disabled={whyNot !== null || apply.busy}
        title={whyNot ?? undefined}
        onClick={() =>
          apply.run(undefined, ({ trashed, freedBytes }) => {
            void client.invalidateQueries({ queryKey: ["runs"] });
            say("safe", `${formatCount(trashed)} moved to the trash, ${formatBytes(freedBytes)}.`);
          })
        }
      >
        {apply.busy ? "Applying" : "Apply now"}
      </Button>
      <KeptVersions run={run} />
    </>
  );
}
