"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import type { KeepPolicy, PolicyView, RunPolicyView } from "#protocol/retention/keeping.ts";
import { formatCount } from "#protocol/base/units.ts";
import { hub } from "../_hub/queries/client.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { useTakeBack } from "../_hub/actions/use-take-back.ts";
import { Button } from "../_ui/controls/button.tsx";
import { FormEnd } from "../_forms/form-end.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { KeptVersions } from "./kept-versions.tsx";
import { previewQuery } from "./retention-queries.ts";
import { PolicyFields } from "./policy-fields.tsx";
import { errorsByPath, formOfPolicy, readPolicy, type PolicyForm } from "./policy-form.ts";
import { PreviewTable, previewWords } from "./preview-table.tsx";

const SCOPES = [
  { id: "own", label: "This run" },
  { id: "usual", label: "All runs without their own" },
] as const;
type Scope = (typeof SCOPES)[number]["id"];

interface PolicyDialogProps {
  run: string;
  view: RunPolicyView;
  onClose: () => void;
}

/** Edits the retention policy and previews its effect before it is saved. */
export function PolicyDialog({ run, view, onClose }: PolicyDialogProps) {
  const client = useQueryClient();
  const [scope, setScope] = useState<Scope>("own");
  const stored = view[scope];
  const [forms, setForms] = useState<Record<Scope, PolicyForm>>({
    own: formOfPolicy(view.own.policy ?? view.usual.policy),
    usual: formOfPolicy(view.usual.policy),
  });
  const form = forms[scope];
  const read = readPolicy(form);
  const of = scope === "own" ? run : null;
  const takeBack = useTakeBack("runs");
  const save = useAction((policy: KeepPolicy | null) =>
    hub.keeping.setPolicy.mutate({ run: of, policy, version: stored.version }),
  );
  const done = (text: string, { version }: PolicyView) => {
    void client.invalidateQueries({ queryKey: ["runs"] });
    const back = () => hub.keeping.setPolicy.mutate({ run: of, policy: stored.policy, version });
    say("safe", text, takeBack(back, "The policy is what it was before."));
    onClose();
  };
  return (
    <Dialog open onClose={onClose} width="wide" title={`What is kept of ${visibleText(run)}`}>
      <Form
        label="Policy"
        errors={read.ok ? {} : errorsByPath(read.errors)}
        actions={[save]}
        onSubmit={() => {
          if (!read.ok) return;
          save.run(read.policy, (saved) => done("The policy is saved. It is applied at the hub's next look.", saved));
        }}
      >
        <FilterWords
          label="Which runs"
          words={SCOPES}
          value={scope}
          onChange={(id) => setScope(id === "usual" ? "usual" : "own")}
        />
        <p className="pt-1 text-soft">
          A checkpoint stays when any rule keeps it; without a rule all stay. What a run goes on from, what is pinned or
          tagged, and the newest never go.
        </p>
        <PolicyFields
          form={form}
          metrics={view.metrics.map(visibleText)}
          onChange={(part) => setForms({ ...forms, [scope]: { ...form, ...part } })}
        />
        {read.ok && <LivePreview run={of} shown={run} policy={read.policy} />}
        <FormFault />
        <FormEnd word="Save policy" busyWord="Saving" busy={save.busy} onCancel={onClose}>
          {stored.policy !== null && (
            <Button
              look="quiet"
              className="mr-auto"
              disabled={save.busy}
              onClick={() =>
                save.run(null, (saved) =>
                  done(scope === "own" ? "The run uses the default." : "The default is removed.", saved),
                )
              }
            >
              {scope === "own" ? "Use the default" : "Remove the default"}
            </Button>
          )}
        </FormEnd>
      </Form>
    </Dialog>
  );
}

function LivePreview({ run, shown, policy }: { run: string | null; shown: string; policy: KeepPolicy }) {
  const query = useQuery(previewQuery(run, useDeferredValue(policy)));
  if (query.isError) return <FaultNote fault={faultOf(query.error)} onRetry={() => void query.refetch()} />;
  if (query.data === undefined) return <SkeletonRows rows={3} label="Loading the preview" />;
  const all = query.data.reduce(
    (sum, one) => ({
      goes: sum.goes + one.goes,
      stays: sum.stays + one.stays,
      freedBytes: sum.freedBytes + one.freedBytes,
    }),
    { goes: 0, stays: 0, freedBytes: 0 },
  );
  const here = query.data.find((one) => one.run === shown);
  return (
    <section aria-label="Preview" className="mt-2 -mx-5 border-t border-line">
      <p aria-live="polite" className="nums px-5 py-2 font-mid">
        {previewWords(all)}
        {run === null && (
          <span className="font-normal text-soft">
            {" "}
            In {formatCount(query.data.length)} {query.data.length === 1 ? "run" : "runs"}
            {here === undefined ? "; this run has a policy of its own." : "; this one below."}
          </span>
        )}
      </p>
      {here !== undefined && here.goes > 0 && (
        <div className="px-5 pb-2">
          <KeptVersions run={shown} />
        </div>
      )}
      {here !== undefined && here.rows.length > 0 && (
        <div className="border-t border-line">
          <PreviewTable preview={here} />
        </div>
      )}
    </section>
  );
}
