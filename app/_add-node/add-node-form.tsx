"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { useWhyNot } from "../_hub/session/person.tsx";
import { profilesQuery } from "../_hub/queries/queries.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { Banner } from "../_ui/feedback/banner.tsx";
import { Button, ButtonLink } from "../_ui/controls/button.tsx";
import { Field } from "../_forms/field.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { Empty } from "../_ui/layout/panel.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { Skeleton } from "../_ui/loading/skeleton.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { NodeLinesView } from "./node-lines-view.tsx";
import { readRunPatterns, runPatternsWrong } from "./run-patterns.ts";

const HOUR = 3_600_000;
const VALID = [
  { value: String(HOUR), label: "1 hour" },
  { value: String(24 * HOUR), label: "1 day" },
  { value: String(7 * 24 * HOUR), label: "7 days" },
  { value: String(90 * 24 * HOUR), label: "90 days" },
];

interface Draft {
  profileId: string | null;
  uses: string;
  validMs: string;
  /** Patterns of the runs that its nodes may write; empty: those they name, and new ones. */
  mayWrite: string;
  run: string;
  watchFolder: string;
}

/** Makes a join token and shows the lines to paste; then waits for the node and says when it is there. */
export function AddNodeForm() {
  const client = useQueryClient();
  const profiles = useQuery(profilesQuery());
  const whyNot = useWhyNot("operator");
  const [draft, setDraft] = useState<Draft>({
    profileId: null,
    uses: "1",
    validMs: String(24 * HOUR),
    mayWrite: "",
    run: "my-run",
    watchFolder: "/checkpoints",
  });
  const change = (part: Partial<Draft>): void => setDraft((old) => ({ ...old, ...part }));
  const create = useAction((input: { profileId: string; maxUses: number; validMs: number; runs: string | null }) =>
    hub.tokens.create.mutate({ ...input, label: "" }),
  );

  if (profiles.isError && profiles.data === undefined)
    return <FaultNote fault={faultOf(profiles.error)} onRetry={() => void profiles.refetch()} />;
  if (profiles.data === undefined) return <Skeleton className="h-40 w-full" />;
  if (whyNot !== null)
    return (
      <Banner tone="risk" title="You may not add nodes.">
        {whyNot}
      </Banner>
    );
  if (profiles.data.length === 0)
    return (
      <Empty
        title="First a bucket"
        action={
          <ButtonLink href="/buckets?add=1" look="main">
            Add bucket
          </ButtonLink>
        }
      >
        A node saves into a bucket profile. There is none yet.
      </Empty>
    );

  const profileId = draft.profileId ?? profiles.data[0]?.id ?? null;
  const uses = Number(draft.uses);
  const usesWrong = !Number.isInteger(uses) || uses < 1 || uses > 10_000 ? "from 1 to 10,000 machines" : undefined;
  const patternsWrong = runPatternsWrong(draft.mayWrite);
  const runWrong = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(draft.run)
    ? undefined
    : "1 to 64 letters, digits, '.', '_' or '-'";

  if (create.result !== undefined)
    return (
      <NodeLinesView
        created={create.result}
        run={runWrong === undefined ? draft.run : "my-run"}
        watchFolder={draft.watchFolder}
        onRun={(run) => change({ run })}
        onWatchFolder={(watchFolder) => change({ watchFolder })}
        runWrong={runWrong}
        runTyped={draft.run}
      />
    );
  return (
    <form
      aria-label="New join token"
      onSubmit={(event) => {
        event.preventDefault();
        if (profileId === null || usesWrong !== undefined || patternsWrong !== undefined) return;
        create.run(
          { profileId, maxUses: uses, validMs: Number(draft.validMs), runs: readRunPatterns(draft.mayWrite) },
          () => void client.invalidateQueries({ queryKey: ["tokens"] }),
        );
      }}
    >
      <Field label="Saves into">
        {(ids) => (
          <Select
            {...ids}
            label="Saves into"
            value={profileId}
            onChange={(value) => change({ profileId: value })}
            choices={profiles.data.map((profile) => ({
              value: profile.id,
              label: visibleText(profile.profile.name),
              note: visibleText(`${profile.profile.bucket}/${profile.profile.prefix}`),
            }))}
          />
        )}
      </Field>
      <TextField
        label="Machines"
        hint="How many may enrol with this token."
        error={usesWrong}
        inputMode="numeric"
        className="nums sm:max-w-32"
        value={draft.uses}
        onChange={(value) => change({ uses: value })}
      />
      <TextField
        label="Runs"
        hint="Which runs these machines may write: llama-*, eval-?. Empty: new ones, and the run that a machine names when it joins, unless machines of another token wrote it."
        error={patternsWrong}
        className="font-mono sm:max-w-80"
        value={draft.mayWrite}
        onChange={(mayWrite) => change({ mayWrite })}
      />
      <Field label="Valid for">
        {(ids) => (
          <Select
            {...ids}
            label="Valid for"
            value={draft.validMs}
            choices={VALID}
            onChange={(validMs) => change({ validMs })}
          />
        )}
      </Field>
      {create.fault !== null && <FaultNote fault={create.fault} />}
      <div className="flex justify-end pt-3">
        <Button
          type="submit"
          look="main"
          disabled={create.busy || usesWrong !== undefined || patternsWrong !== undefined}
        >
          {create.busy ? "Creating" : "Create token"}
        </Button>
      </div>
    </form>
  );
}
