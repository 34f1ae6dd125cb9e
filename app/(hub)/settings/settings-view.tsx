"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState, type ReactNode } from "react";
import { useAddressWord, useAddressWords } from "../../_hub/address.ts";
import { chooseRateUnit, chooseTheme, useRateUnit, useTheme } from "../../_hub/choices.ts";
import { hub } from "../../_hub/client.ts";
import { FaultNote } from "../../_hub/fault-note.tsx";
import { liveStore } from "../../_hub/live-store.ts";
import { roleAllows, usePerson } from "../../_hub/person.tsx";
import { statusQuery } from "../../_hub/queries.ts";
import { useAction } from "../../_hub/use-action.ts";
import { ApiTokensPanel } from "../../_settings/api-tokens-panel.tsx";
import { JoinTokensPanel } from "../../_settings/join-tokens-panel.tsx";
import { SessionsPanel } from "../../_settings/sessions-panel.tsx";
import { PageHead } from "../../_shell/page-head.tsx";
import { Button } from "../../_ui/button.tsx";
import { classNames } from "../../_ui/class-names.ts";
import { onDemand } from "../../_ui/on-demand.tsx";
import { Panel } from "../../_ui/panel.tsx";
import { Tabs } from "../../_ui/tabs.tsx";
import { visibleText } from "../../_ui/visible-text.ts";

const AuditPanel = onDemand(() => import("../../_settings/audit-panel.tsx").then((module) => module.AuditPanel));
const PeoplePanel = onDemand(() => import("../../_settings/people-panel.tsx").then((module) => module.PeoplePanel));
const PasswordDialog = onDemand(() =>
  import("../../_settings/password-dialog.tsx").then((module) => module.PasswordDialog),
);

/** One's own account and browser, tokens, and for admins the people and what they did. What is open stands in the address. */
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
        ]
      : []),
  ];
  return (
    <>
      <PageHead title="Settings" />
      <Tabs
        label="Settings"
        value={items.some(({ id }) => id === show) ? show : "you"}
        // The filters of one tab mean nothing to another.
        onChange={(id) => replace(id === "you" ? {} : { show: id })}
        items={items}
      />
    </>
  );
}

function OwnSettings() {
  const person = usePerson();
  const router = useRouter();
  const client = useQueryClient();
  const status = useQuery(statusQuery());
  const theme = useTheme();
  const unit = useRateUnit();
  const [changing, setChanging] = useState(false);
  const signOut = useAction(() => hub.auth.signOut.mutate());
  return (
    <div className="flex flex-col gap-5">
      <Panel title="Account">
        <Line name="Signed in as" about={person === null ? "" : `role ${person.role}`}>
          <span className="mr-auto min-w-0 truncate font-mid max-sm:w-full">{visibleText(person?.email ?? "")}</span>
          <Button onClick={() => setChanging(true)}>Change password</Button>
          <Button
            disabled={signOut.busy}
            onClick={() =>
              signOut.run(undefined, () => {
                router.replace("/sign-in");
                liveStore.clear();
                client.clear();
              })
            }
          >
            Sign out
          </Button>
        </Line>
        {signOut.fault !== null && (
          <div className="p-3">
            <FaultNote fault={signOut.fault} />
          </div>
        )}
      </Panel>
      <SessionsPanel />
      <Panel title="This browser">
        <Line name="Theme" about="As the system, unless chosen here.">
          <Choice
            label="Theme"
            value={theme}
            options={[
              { id: "system", label: "System" },
              { id: "light", label: "Light" },
              { id: "dark", label: "Dark" },
            ]}
            onChange={chooseTheme}
          />
        </Line>
        <Line name="Rates" about="As networks are sold, or as disks are.">
          <Choice
            label="Rates"
            value={unit}
            options={[
              { id: "bits", label: "Mbps" },
              { id: "bytes", label: "MB/s" },
            ]}
            onChange={chooseRateUnit}
          />
        </Line>
      </Panel>
      <Panel title="About">
        <Line name="Tidemark" about="Apache-2.0">
          <span className="nums mr-auto">version {visibleText(status.data?.version ?? "")}</span>
        </Line>
        <Line name="Keys" about="Everything can be reached from the keyboard.">
          <span className="mr-auto text-soft">Press ? on any page.</span>
        </Line>
      </Panel>
      {changing && <PasswordDialog onClose={() => setChanging(false)} />}
    </div>
  );
}

function Line({ name, about, children }: { name: string; about: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center gap-x-6 gap-y-2 border-b border-line px-4 py-3 last:border-b-0">
      <div className="w-full sm:w-64">
        <div>{name}</div>
        <div className="text-12 text-faint">{about}</div>
      </div>
      <div className="flex min-w-0 flex-1 flex-wrap items-center gap-x-3 gap-y-2">{children}</div>
    </div>
  );
}

interface ChoiceProps<Id extends string> {
  label: string;
  value: Id;
  options: readonly { id: Id; label: string }[];
  onChange: (id: Id) => void;
}

function Choice<Id extends string>({ label, value, options, onChange }: ChoiceProps<Id>) {
  return (
    <div role="radiogroup" aria-label={label} className="inline-flex rounded-md border border-line bg-bg p-0.5">
      {options.map((option) => (
        <label
          key={option.id}
          className={classNames(
            "cursor-pointer rounded-1 px-3 py-1 has-focus-visible:outline-2 has-focus-visible:outline-accent",
            option.id === value
              ? "border border-line bg-panel font-mid"
              : "border border-transparent text-soft hover:text-ink",
          )}
        >
          <input
            type="radio"
            name={label}
            className="sr-only"
            checked={option.id === value}
            onChange={() => onChange(option.id)}
          />
          {option.label}
        </label>
      ))}
    </div>
  );
}
