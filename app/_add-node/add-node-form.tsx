"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { hub } from "../_hub/queries/client.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { useWhyNot } from "../_hub/session/person.tsx";
import { profilesQuery } from "../_hub/queries/queries.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { Banner } from "../_ui/feedback/banner.tsx";
import { Button, ButtonLink } from "../_ui/controls/button.tsx";
import { Empty } from "../_ui/layout/panel.tsx";
import { Skeleton } from "../_ui/loading/skeleton.tsx";
import { NodeLinesView } from "./node-lines-view.tsx";
import { FIRST_DRAFT, type TokenDraft } from "./token-draft.ts";
import { TokenFields } from "./token-fields.tsx";
import { readRunPatterns, runPatternsWrong } from "./run-patterns.ts";

/** Creates a join token, shows the commands to paste, waits for the node and reports when it has joined. */
export function AddNodeForm() {
  const client = useQueryClient();
  const profiles = useQuery(profilesQuery());
  const whyNot = useWhyNot("operator");
  const [draft, setDraft] = useState(FIRST_DRAFT);
  const change = (part: Partial<TokenDraft>): void => setDraft((old) => ({ ...old, ...part }));
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
    <Form
      label="New join token"
      errors={{ maxUses: usesWrong, runs: runPatternsWrong(draft.mayWrite) }}
      actions={[create]}
      onSubmit={() => {
        if (profileId === null) return;
        create.run(
          { profileId, maxUses: uses, validMs: Number(draft.validMs), runs: readRunPatterns(draft.mayWrite) },
          () => void client.invalidateQueries({ queryKey: ["tokens"] }),
        );
      }}
    >
      <TokenFields draft={draft} profileId={profileId} profiles={profiles.data} onChange={change} />
      <FormFault />
      <div className="flex justify-end pt-3">
        <Button type="submit" look="main" disabled={create.busy}>
          {create.busy ? "Creating" : "Create token"}
        </Button>
      </div>
    </Form>
  );
}
