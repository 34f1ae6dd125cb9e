"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useEffect, useState } from "react";
import { useAddressWord, useAddressWords } from "../../_hub/address/address.ts";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { roleAllows, usePerson } from "../../_hub/session/person.tsx";
import { sessionsQuery, statusQuery } from "../../_hub/queries/queries.ts";
import { signOut } from "../../_hub/session/sign-out.ts";
import { useAction } from "../../_hub/actions/use-action.ts";
import { BrowserPanel } from "../../_settings/browser-panel.tsx";
import { SessionsPanel } from "../../_settings/sessions-panel.tsx";
import { PageHead } from "../../_shell/page-head.tsx";
import { Button } from "../../_ui/controls/button.tsx";
import { onDemand } from "../../_ui/loading/on-demand.tsx";
import { SettingLine } from "../../_settings/setting-line.tsx";
import { Panel } from "../../_ui/layout/panel.tsx";
import { Tabs } from "../../_ui/layout/tabs.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";

const ApiTokensPanel = onDemand(() =>
  import("../../_settings/api-tokens-panel.tsx").then((module) => module.ApiTokensPanel),
);
const JoinTokensPanel = onDemand(() =>
  import("../../_settings/join-tokens-panel.tsx").then((module) => module.JoinTokensPanel),
);
const AuditPanel = onDemand(() => import("../../_settings/audit-panel.tsx").then((module) => module.AuditPanel));
const HubPanel = onDemand(() => import("../../_settings/hub-panel.tsx").then((module) => module.HubPanel));
const PeoplePanel = onDemand(() => import("../../_settings/people-panel.tsx").then((module) => module.PeoplePanel));
const PasswordDialog = onDemand(() =>
  import("../../_settings/password-dialog.tsx").then((module) => module.PasswordDialog),
);

/**
 * Shows account, browser and token settings, and for admins people, audit log and hub settings. The open tab is kept in the
 * address.
 */
export function SettingsView() {
  const person = usePerson();
  const [show] = useAddressWord("show", "you");
  const replace = useAddressWords();
  const isAdmin = person !== null && roleAllows(person.role, "admin");
  const items = [
    { id: "you", label: "You", body: <OwnSettings /> },
    {
      id: "tokens",
      label: "Tokens",
      body: (
        <div className="flex flex-col gap-5">
          <JoinTokensPanel />
          <ApiTokensPanel />
        </div>
      ),
    },
    ...(isAdmin
      ? [
          { id: "people", label: "People", body: <PeoplePanel /> },
          { id: "audit", label: "Audit", body: <AuditPanel /> },
          { id: "hub", label: "Hub", body: <HubPanel /> },
        ]
      : []),
  ];
  return (
    <>
      <PageHead title="Settings" />
      <Tabs
        label="Settings"
        value={items.some(({ id }) => id === show) ? show : "you"}
        // Drops the filters of the previous tab.
        onChange={(id) => replace(id === "you" ? {} : { show: id })}
        items={items}
      />
    </>
  );
}

/** Scrolls to the section in the URL fragment, which did not exist when the browser looked for it. */
function ToSection() {
  useEffect(() => {
    if (location.hash !== "") document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, []);
  return null;
}

function OwnSettings() {
  const person = usePerson();
  const router = useRouter();
  const client = useQueryClient();
  const status = useQuery(statusQuery());
  // Content below the sessions is shown once the sessions have their height.
  const sessions = useQuery(sessionsQuery());
  const [changing, setChanging] = useState(false);
  const leave = useAction(() => signOut(client));
  return (
    <div className="flex flex-col gap-5">
      <Panel title="Account">
        <SettingLine name="Signed in as" about={person === null ? "" : `role ${person.role}`}>
          <span className="mr-auto min-w-0 truncate font-mid max-sm:w-full">{visibleText(person?.email ?? "")}</span>
          <Button onClick={() => setChanging(true)}>Change password</Button>
          <Button disabled={leave.busy} onClick={() => leave.run(undefined, () => router.replace("/sign-in"))}>
            Sign out
          </Button>
        </SettingLine>
        {leave.fault !== null && (
          <div className="p-3">
            <FaultNote fault={leave.fault} />
          </div>
        )}
      </Panel>
      <SessionsPanel />
      {!sessions.isPending && (
        <>
          <BrowserPanel />
          <Panel id="about" title="About">
            <SettingLine name="Tidemark" about="Apache-2.0">
              <span className="nums mr-auto">version {visibleText(status.data?.version ?? "")}</span>
            </SettingLine>
            <SettingLine name="Shortcuts" about="Everything can be reached from the keyboard.">
              <span className="mr-auto text-soft">Press ? on any page.</span>
            </SettingLine>
          </Panel>
        </>
      )}
      {!sessions.isPending && <ToSection />}
      {changing && <PasswordDialog onClose={() => setChanging(false)} />}
    </div>
  );
}
