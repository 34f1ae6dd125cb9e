"use client";
import { useQuery } from "@tanstack/react-query";
import { useAddressWord } from "../../_hub/address/address.ts";
import { QueryFault } from "../../_hub/faults/query-fault.tsx";
import { useWhyNot } from "../../_hub/session/person.tsx";
import { accountsQuery } from "../../_groups/group-queries.ts";
import { PageHead } from "../../_shell/page-head.tsx";
import { Button } from "../../_ui/controls/button.tsx";
import { Empty, Panel } from "../../_ui/layout/panel.tsx";
import { onDemand, onItsWay } from "../../_ui/loading/on-demand.tsx";
import { SkeletonRows } from "../../_ui/loading/skeleton.tsx";

const AccountPanel = onItsWay(() => import("../../_groups/account-panel.tsx").then((part) => part.AccountPanel));
const AccountDialog = onDemand(() => import("../../_groups/account-dialog.tsx").then((part) => part.AccountDialog));

/** Shows accounts at providers with their groups, instances and rules. */
export function GroupsView() {
  const accounts = useQuery(accountsQuery());
  const [dialog, setDialog] = useAddressWord("do", "", "same");
  const whyNot = useWhyNot("admin");
  const add = (
    <Button look="main" whyNot={whyNot} onClick={() => setDialog("add")}>
      Add account
    </Button>
  );
  const edited = accounts.data?.find(({ id }) => id === dialog) ?? null;
  return (
    <>
      <PageHead
        title="Groups"
        about="Groups of instances that a provider runs, beside the nodes of this hub. A rule scales a group by the jobs of a queue, and never removes an instance with unsaved work."
        actions={add}
      />
      {accounts.data === undefined ? (
        accounts.isError ? (
          <QueryFault query={accounts} />
        ) : (
          <Panel label="Accounts">
            <SkeletonRows rows={4} label="Loading accounts" />
          </Panel>
        )
      ) : accounts.data.length === 0 ? (
        <Panel label="Accounts">
          <Empty title="No account yet">
            With a key of SaladCloud the hub lists your container groups, acts on their instances and scales them by
            queues.
          </Empty>
        </Panel>
      ) : (
        accounts.data.map((view) => <AccountPanel key={view.id} view={view} onEdit={() => setDialog(view.id)} />)
      )}
      {(dialog === "add" || edited !== null) && <AccountDialog edited={edited} onClose={() => setDialog("")} />}
    </>
  );
}
