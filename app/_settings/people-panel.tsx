"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { UserView } from "#protocol/fleet/people.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { usersQuery } from "../_hub/queries/queries.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { useTakeBack } from "../_hub/actions/use-take-back.ts";
import { Button } from "../_ui/controls/button.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Table, type Column } from "../_ui/tables/table.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { ConfirmDialog } from "../_hub/actions/confirm-dialog.tsx";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { OpenLinksPanel } from "./open-links-panel.tsx";
import { PersonRow } from "./person-row.tsx";
import { ResetDialog } from "./reset-dialog.tsx";

const InviteDialog = onDemand(() => import("./invite-dialog.tsx").then((module) => module.InviteDialog));

const COLUMNS: readonly Column[] = [
  { key: "person", head: "Person" },
  { key: "role", head: "Role", edge: "narrow" },
  { key: "open", head: "Sessions", from: "md" },
  { key: "actions", head: "", label: "Change it", align: "right", from: "sm" },
];

interface Asked {
  what: "reset" | "disable" | "remove";
  user: UserView;
}

/** Lists the accounts of this hub and their invitations, for admins. */
export function PeoplePanel() {
  const client = useQueryClient();
  const users = useQuery(usersQuery());
  const [asked, setAsked] = useState<Asked | null>(null);
  const [inviting, setInviting] = useState(false);
  const takeBack = useTakeBack("account");
  const change = useAction((call: () => Promise<unknown>) => call());
  const refresh = () => void client.invalidateQueries({ queryKey: ["account"] });
  const close = () => setAsked(null);
  return (
    <div className="flex flex-col gap-5">
      <Panel
        title="People"
        label="People"
        side={
          <Button size="small" onClick={() => setInviting(true)}>
            Invite…
          </Button>
        }
      >
        {change.fault !== null && (
          <div className="p-3">
            <FaultNote fault={change.fault} />
          </div>
        )}
        {users.isError && users.data === undefined ? (
          <QueryFault query={users} />
        ) : users.data === undefined ? (
          <SkeletonRows rows={3} label="Loading people" />
        ) : (
          <Table label="People" columns={COLUMNS}>
            {users.data.map((user) => (
              <PersonRow
                key={user.id}
                user={user}
                busy={change.busy}
                onRole={(role) =>
                  change.run(
                    () => hub.users.setRole.mutate({ id: user.id, role }),
                    () => {
                      refresh();
                      const back = () => hub.users.setRole.mutate({ id: user.id, role: user.role });
                      const name = visibleText(user.email);
                      say("safe", `${name} is ${role} now.`, takeBack(back, `${name} is ${user.role} again.`));
                    },
                  )
                }
                onEnable={() => change.run(() => hub.users.enable.mutate({ id: user.id }), refresh)}
                onAsk={(what) => setAsked({ what, user })}
              />
            ))}
          </Table>
        )}
      </Panel>
      <OpenLinksPanel />
      {inviting && <InviteDialog onClose={() => setInviting(false)} />}
      {asked?.what === "reset" && <ResetDialog user={asked.user} onClose={close} />}
      {asked?.what === "disable" && (
        <ConfirmDialog
          title={`Disable ${visibleText(asked.user.email)}?`}
          words={{ button: "Disable", busy: "Disabling", keep: "Leave it as it is" }}
          run={() => hub.users.disable.mutate({ id: asked.user.id })}
          onDone={refresh}
          onClose={close}
        >
          Its sessions end at once, its API tokens stop working, and its links stop working. Enabling it brings back the
          account and its tokens, not the sessions or links.
        </ConfirmDialog>
      )}
      {asked?.what === "remove" && (
        <ConfirmDialog
          title={`Remove ${visibleText(asked.user.email)}?`}
          words={{ button: "Remove", busy: "Removing", keep: "Keep it" }}
          run={() => hub.users.remove.mutate({ id: asked.user.id })}
          onDone={() => {
            refresh();
            say("quiet", `${visibleText(asked.user.email)} was removed.`);
          }}
          onClose={close}
        >
          The account, its sessions and its API tokens are gone for good. What it did stays in the audit, and nodes and
          checkpoints are not touched.
        </ConfirmDialog>
      )}
    </div>
  );
}
