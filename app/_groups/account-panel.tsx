"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { AccountView } from "#protocol/groups/groups.ts";
import { ConfirmDialog, REMOVE_WORDS } from "../_hub/actions/confirm-dialog.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { Age } from "../_hub/live/age.tsx";
import { hub } from "../_hub/queries/client.ts";
import { useWhyNot } from "../_hub/session/person.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { GroupSection } from "./group-section.tsx";
import { groupsQuery } from "./group-queries.ts";

/** Shows one account: its state, a test, and its groups. */
export function AccountPanel({ view, onEdit }: { view: AccountView; onEdit: () => void }) {
  const client = useQueryClient();
  const whyNot = useWhyNot("admin");
  const [isRemoving, setRemoving] = useState(false);
  const listed = useQuery(groupsQuery(view.id));
  const test = useAction(() => hub.groups.accounts.test.mutate({ id: view.id }));
  const { account, seenAt, pausedUntil, lastFault } = view;
  const name = visibleText(account.name);
  const refresh = () => void client.invalidateQueries({ queryKey: ["groups"] });
  const fault = test.fault ?? (test.result === undefined ? (listed.data?.fault ?? lastFault) : test.result.fault);
  const look = { look: "quiet", size: "small", whyNot } as const;
  return (
    <Panel
      label={`Account ${name}`}
      title={name}
      note={`SaladCloud, ${visibleText(account.organization)}/${visibleText(account.project)}`}
      side={
        <>
          {pausedUntil !== null && <Tag tone="risk">paused by the provider</Tag>}
          {pausedUntil === null && fault === null && seenAt !== null && (
            <span className="text-12 text-faint max-sm:hidden">
              seen <Age at={seenAt} />
            </span>
          )}
          <span className="flex flex-wrap gap-0.5">
            <Button
              {...look}
              disabled={test.busy}
              aria-label={`Test ${name}`}
              onClick={() => test.run(undefined, refresh)}
            >
              {test.busy ? "Testing" : "Test"}
            </Button>
            <Button {...look} aria-label={`Edit ${name}`} onClick={onEdit}>
              Edit
            </Button>
            <Button {...look} aria-label={`Remove ${name}`} onClick={() => setRemoving(true)}>
              Remove…
            </Button>
          </span>
        </>
      }
    >
      {test.result?.ok === true && (
        <output className="block border-b border-line px-4 py-2 text-safe">{visibleText(test.result.says)}</output>
      )}
      {fault !== null && (
        <div className="border-b border-line px-4 py-2.5">
          <FaultNote fault={fault} />
        </div>
      )}
      {listed.data === undefined ? (
        listed.isError ? (
          <QueryFault query={listed} />
        ) : (
          <SkeletonRows rows={4} label="Loading groups" />
        )
      ) : listed.data.groups.length === 0 ? (
        listed.data.fault === null && <Empty title="No group in this project">Make one at SaladCloud.</Empty>
      ) : (
        <div className="divide-y divide-line">
          {listed.data.groups.map((group) => (
            <GroupSection key={group.name} accountId={view.id} group={group} />
          ))}
        </div>
      )}
      {isRemoving && (
        <ConfirmDialog
          title={`Remove ${name}?`}
          words={REMOVE_WORDS}
          run={() => hub.groups.accounts.remove.mutate({ id: view.id })}
          onDone={() => {
            refresh();
            say("quiet", `${name} was removed.`);
          }}
          onClose={() => setRemoving(false)}
        >
          Its key and its rules are deleted. The groups stay as they are, and nothing scales them any more.
        </ConfirmDialog>
      )}
    </Panel>
  );
}
