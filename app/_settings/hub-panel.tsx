"use client";
import { useQuery } from "@tanstack/react-query";
import type { HubSettingView } from "#protocol/fleet/hub-settings.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { hubSettingsQuery } from "../_hub/queries/queries.ts";
import { SearchField } from "../_ui/controls/search-field.tsx";
import { Copy } from "../_ui/controls/copy.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { shortText, visibleText } from "../_ui/text/visible-text.ts";

const LONGEST = 80;

/** Lists every setting of the hub with value, default, name and source. */
export function HubPanel() {
  const settings = useQuery(hubSettingsQuery());
  const [words, setWords] = useAddressWord("q", "", "same");
  if (settings.isError && settings.data === undefined)
    return <FaultNote fault={faultOf(settings.error)} onRetry={() => void settings.refetch()} />;
  const found = (settings.data ?? []).filter(({ name, about }) =>
    `${name} ${about}`.toLowerCase().includes(words.trim().toLowerCase()),
  );
  const groups = Object.entries(Object.groupBy(found, ({ group }) => group));
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <SearchField label="Find a setting" value={words} onChange={setWords} placeholder="Name or words" />
        <p className="text-soft">
          Read from the environment when the hub starts. Change them there, then start it again.
        </p>
      </div>
      {settings.data === undefined ? (
        <Panel label="Settings of the hub">
          <SkeletonRows rows={8} label="Loading the settings" />
        </Panel>
      ) : groups.length === 0 ? (
        <Panel label="Settings of the hub">
          <Empty title="No setting has these words">{settings.data.length} others do not.</Empty>
        </Panel>
      ) : (
        groups.map(([group, rows = []]) => (
          <Panel key={group} title={group}>
            <ul aria-label={group} className="divide-y divide-line">
              {rows.map((row) => (
                <SettingRow key={row.name} row={row} />
              ))}
            </ul>
          </Panel>
        ))
      )}
    </div>
  );
}

const SOURCES: Record<HubSettingView["source"], string> = {
  default: "default",
  environment: "environment",
  file: "file",
  signer: "with the signer",
};

function SettingRow({ row }: { row: HubSettingView }) {
  const isSet = row.source === "environment" || row.source === "file";
  return (
    <li className="grid gap-x-6 gap-y-1 px-4 py-2.5 md:grid-cols-[minmax(0,5fr)_minmax(0,4fr)_104px] md:items-center">
      <div className="min-w-0">
        <span className="inline-flex max-w-full items-center gap-1">
          <span className="min-w-0 font-mono text-12 break-all">
            {row.source === "file" ? `${row.name}_FILE` : row.name}
          </span>
          <Copy text={row.name} label={`Copy ${row.name}`} />
        </span>
        <div className="text-12 text-soft">{row.about}</div>
      </div>
      <div className="min-w-0">
        <div className="nums break-words">{valueWords(row)}</div>
        {isSet && <div className="text-12 text-faint">default: {row.usual}</div>}
      </div>
      <div className="md:text-right">
        <Tag tone={isSet ? "moving" : "quiet"} kind="plain">
          {SOURCES[row.source]}
        </Tag>
      </div>
    </li>
  );
}

function valueWords({ source, value, usual }: HubSettingView): string {
  switch (source) {
    case "default":
      return usual;
    case "signer":
      return "not available to the pages";
    case "file":
      return "set, not shown";
    case "environment":
      return value === null ? "set, not shown" : visibleText(shortText(value, LONGEST));
  }
}
