"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { BucketAction, BucketJobView, BucketPlan, PlanBucketJob } from "#protocol/buckets/bucket-jobs.ts";
import { takesAway } from "#protocol/buckets/bucket-verbs.ts";
import { formatCount } from "#protocol/base/units.ts";
import { hub } from "../../_hub/queries/client.ts";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { faultOf } from "../../_hub/faults/fault-of.ts";
import { useAction } from "../../_hub/actions/use-action.ts";
import { Button } from "../../_ui/controls/button.tsx";
import { Dialog } from "../../_ui/layout/dialog.tsx";
import { TextField } from "../../_forms/text-field.tsx";
import { say } from "../../_ui/feedback/toast.tsx";
import { shortText } from "../../_ui/text/visible-text.ts";
import { ACTION_WORDS, countOf } from "./job-words.ts";
import { ProtectedWords } from "../detail/protected-words.tsx";
import { formatBytes } from "../../_ui/text/sizes.ts";

interface PlanDialogProps {
  profileId: string;
  action: BucketAction;
  /** Source folder. */
  from: string;
  items: PlanBucketJob["items"];
  onClose: () => void;
  /** Called when the job was confirmed. */
  onStarted: () => void;
}

const INTRO: Readonly<Record<BucketAction, string>> = {
  copy: "Nothing changes before you confirm. What is there already is never written over.",
  move: "Nothing changes before you confirm. What is there already is never written over.",
  delete: "First what would go; it goes when you have confirmed it.",
  revive: "Nothing changes before you confirm. The present object stays as an older version.",
};

/** Plans a bucket job, shows its effect, and starts it after confirmation. The second button is the first to change anything. */
export function PlanDialog({ profileId, action, from, items, onClose, onStarted }: PlanDialogProps) {
  const client = useQueryClient();
  const words = ACTION_WORDS[action];
  const [target, setTarget] = useState(from);
  const folder = target === "" || target.endsWith("/") ? target : `${target}/`;
  const hasTarget = action === "copy" || action === "move";
  const ask = useAction(() =>
    hub.bucket.plan.mutate({ profileId, action, from, items: [...items], target: hasTarget ? folder : null }),
  );
  const planned = useQuery({
    queryKey: ["bucket", "job", ask.result?.id],
    queryFn: () => hub.bucket.job.query({ id: ask.result?.id ?? "" }),
    enabled: ask.result !== undefined,
    refetchInterval: (query) => (query.state.data === undefined || query.state.data.state === "planning" ? 400 : false),
  });
  const job: BucketJobView | undefined = planned.data ?? ask.result;
  const start = useAction((id: string) => hub.bucket.start.mutate({ id }));
  const close = (): void => {
    // An unconfirmed plan is canceled at once, best effort.
    if (job !== undefined && start.result === undefined)
      void hub.bucket.cancel.mutate({ id: job.id }).catch(() => undefined);
    onClose();
  };
  const isReady = job?.state === "planned" && job.plan !== null;
  const isSame = hasTarget && folder === from;
  return (
    <Dialog
      open
      onClose={close}
      title={`${words.verb} objects`}
      intro={INTRO[action]}
      footer={
        <>
          <span className="flex-1" />
          <Button onClick={close}>{isReady ? "Leave it" : "Close"}</Button>
          {!isReady ? (
            <Button
              look="main"
              disabled={ask.busy || job?.state === "planning" || isSame}
              onClick={() => ask.run(undefined)}
            >
              {ask.busy || job?.state === "planning" ? "Looking" : "Show what would happen"}
            </Button>
          ) : (
            <Button
              look={takesAway(action) ? "danger" : "main"}
              disabled={start.busy || job.plan?.objects === 0}
              onClick={() =>
                start.run(job.id, () => {
                  void client.invalidateQueries({ queryKey: ["transfers", "bucket-jobs"] });
                  say("moving", `The hub is ${words.now} ${countOf(job.plan?.objects ?? 0)}. You can close this page.`);
                  onStarted();
                  onClose();
                })
              }
            >
              {start.busy
                ? "Starting"
                : `${words.verb} ${countOf(job.plan?.objects ?? 0)}, ${formatBytes(job.plan?.bytes ?? 0)}`}
            </Button>
          )}
        </>
      }
    >
      <div className="flex flex-col gap-3">
        {hasTarget && (
          <TextField
            label="To the folder"
            hint={
              isSame
                ? "Another folder than the one they are in."
                : "In this bucket; empty is the top. A new one needs no making."
            }
            kind="code"
            value={target}
            disabled={isReady || job?.state === "planning"}
            onChange={setTarget}
          />
        )}
        {ask.fault !== null && <FaultNote fault={ask.fault} />}
        {planned.isError && <FaultNote fault={faultOf(planned.error)} onRetry={() => void planned.refetch()} />}
        {job?.state === "planning" && (
          <output className="nums text-soft">Found {countOf(job.foundObjects)} so far…</output>
        )}
        {job?.state === "failed" && job.fault !== null && <FaultNote fault={job.fault} />}
        {isReady && job.plan !== null && <Effect plan={job.plan} action={action} />}
        {start.fault !== null && <FaultNote fault={start.fault} />}
      </div>
    </Dialog>
  );
}

function costWords({ cost, requests }: BucketPlan): string {
  const asked = `about ${formatCount(requests)} requests`;
  if (cost === null) return asked;
  const sign = cost.currency === "USD" ? "$" : "€";
  return `${asked}, ${cost.amount < 0.01 ? `less than ${sign}0.01` : `about ${sign}${cost.amount.toFixed(2)}`} by the price list`;
}

/** Says what bringing back does to the keys and to their present objects. */
function Revived({ of, among }: { of: NonNullable<BucketPlan["revived"]>; among: number }) {
  const { copies, undeleted, covered } = of;
  const whose = among === 1 ? "it has" : covered === 1 ? "one of them has" : `${covered} of them have`;
  const lines = [
    ...(copies === 0 ? [] : [`An older version is copied on top of ${countOf(copies)}, and is paid for as well.`]),
    ...(undeleted === 0 ? [] : [`The deletion of ${countOf(undeleted)} is taken back: its mark goes for good.`]),
    ...(covered === 0 ? [] : [`What ${whose} now becomes an old version.`]),
  ];
  return (
    <ul className="nums text-soft">
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}

function Effect({ plan, action }: { plan: BucketPlan; action: BucketAction }) {
  const { objects, bytes, kept, samePlace, sample, keepsVersions, revived } = plan;
  return (
    <section aria-label="What would happen" className="flex flex-col gap-2">
      <p className="nums text-15 font-semibold">
        {countOf(objects)}, {formatBytes(bytes)}
      </p>
      <p className="nums text-soft">
        It takes {costWords(plan)}.{" "}
        {takesAway(action) &&
          (keepsVersions === true
            ? "The bucket keeps versions: what goes stays as an old version, and is paid for."
            : keepsVersions === "some"
              ? "The bucket's versioning was suspended: what was written before that stays as an old version, all else cannot be brought back."
              : keepsVersions === false
                ? "The bucket keeps no versions: a deletion cannot be undone."
                : "Whether the bucket keeps versions, the store does not say.")}
        {samePlace > 0 && ` ${countOf(samePlace)} ${samePlace === 1 ? "is" : "are"} there already.`}
      </p>
      {revived !== undefined && <Revived of={revived} among={objects} />}
      {kept.objects > 0 && (
        <div className="rounded-md border border-line bg-sunk px-3 py-2">
          <p className="nums font-mid">
            {countOf(kept.objects)}, {formatBytes(kept.bytes)}, stay: they are Tidemark&rsquo;s.
          </p>
          <ul className="pt-1 text-12 text-soft">
            {kept.groups.map((group) => (
              <li key={group.firstKey} className="nums py-0.5">
                {countOf(group.objects)}: <ProtectedWords protection={group} />
              </li>
            ))}
            {kept.groupsOmitted > 0 && (
              <li className="nums py-0.5">and {countOf(kept.groupsOmitted)} more of others.</li>
            )}
          </ul>
        </div>
      )}
      {sample.length > 0 && (
        <details className="text-12">
          <summary className="w-fit text-soft hover:text-ink">The first of them</summary>
          <ul className="pt-1 font-mono text-soft">
            {sample.map((key) => (
              <li key={key} dir="ltr" className="[overflow-wrap:anywhere]">
                {shortText(key, 200)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
