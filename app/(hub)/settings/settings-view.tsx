"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import type { ReactNode } from "react";
import { chooseRateUnit, chooseTheme, useRateUnit, useTheme } from "../../_hub/choices.ts";
import { hub } from "../../_hub/client.ts";
import { FaultNote } from "../../_hub/fault-note.tsx";
import { liveStore } from "../../_hub/live-store.ts";
import { usePerson } from "../../_hub/person.tsx";
import { statusQuery } from "../../_hub/queries.ts";
import { useAction } from "../../_hub/use-action.ts";
import { PageHead } from "../../_shell/page-head.tsx";
import { Button } from "../../_ui/button.tsx";
import { classNames } from "../../_ui/class-names.ts";
import { Panel } from "../../_ui/panel.tsx";
import { visibleText } from "../../_ui/visible-text.ts";
import { TokenPanel } from "./token-panel.tsx";

export function SettingsView() {
  const person = usePerson();
  const router = useRouter();
  const client = useQueryClient();
  const status = useQuery(statusQuery());
  const theme = useTheme();
  const unit = useRateUnit();
  const signOut = useAction(() => hub.auth.signOut.mutate());
  return (
    <>
      <PageHead title="Settings" />
      <Panel title="Account">
        <Line name="Signed in as" about={person === null ? "" : `role ${person.role}`}>
          <span className="mr-auto min-w-0 truncate font-mid">{visibleText(person?.email ?? "")}</span>
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
      <TokenPanel />
      <Panel title="About">
        <Line name="Tidemark" about="Apache-2.0">
          <span className="nums mr-auto">version {visibleText(status.data?.version ?? "")}</span>
        </Line>
        <Line name="Keys" about="Everything can be reached from the keyboard.">
          <span className="mr-auto text-soft">Press ? on any page.</span>
        </Line>
      </Panel>
    </>
  );
}

function Line({ name, about, children }: { name: string; about: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center gap-x-6 gap-y-2 border-b border-line px-4 py-3 last:border-b-0">
      <div className="w-full sm:w-64">
        <div>{name}</div>
        <div className="text-12 text-faint">{about}</div>
      </div>
      <div className="flex min-w-0 flex-1 items-center gap-3">{children}</div>
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
