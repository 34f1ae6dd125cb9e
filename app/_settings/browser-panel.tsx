"use client";
import { useEffect, useRef } from "react";
import {
  chooseRateUnit,
  chooseSizeUnit,
  chooseTheme,
  chooseTimeZone,
  useRateUnit,
  useSizeUnit,
  useTheme,
  useTimeZone,
} from "../_hub/preferences/choices.ts";
import { useHubNow } from "../_hub/live/live.tsx";
import { classNames } from "../_ui/rendering/class-names.ts";
import { Panel } from "../_ui/layout/panel.tsx";
import { fullTime } from "../_ui/text/times.ts";
import { SettingLine } from "./setting-line.tsx";

/** Shows the display settings of this browser. */
export function BrowserPanel() {
  const theme = useTheme();
  const rate = useRateUnit();
  const size = useSizeUnit();
  const zone = useTimeZone();
  const now = useHubNow(1000);
  return (
    <Panel id="browser" title="This browser" note="for this browser only">
      <SettingLine name="Theme" about="As the system, unless chosen here.">
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
      </SettingLine>
      <SettingLine name="Rates" about="As networks are sold, or as disks are.">
        <Choice
          label="Rates"
          value={rate}
          options={[
            { id: "bits", label: "Mbps" },
            { id: "bytes", label: "MB/s" },
          ]}
          onChange={chooseRateUnit}
        />
      </SettingLine>
      <SettingLine name="Sizes" about="As memory is counted (1,024), or as stores are billed (1,000).">
        <Choice
          label="Sizes"
          value={size}
          options={[
            { id: "binary", label: "MiB" },
            { id: "decimal", label: "MB" },
          ]}
          onChange={chooseSizeUnit}
        />
      </SettingLine>
      <SettingLine name="Times" about="By this computer's clock, or as logs say them.">
        <Choice
          label="Times"
          value={zone}
          options={[
            { id: "local", label: "Local" },
            { id: "utc", label: "UTC" },
          ]}
          onChange={chooseTimeZone}
        />
        <span className="nums text-soft">{now === 0 ? "" : `now ${fullTime(now)}`}</span>
      </SettingLine>
    </Panel>
  );
}

interface ChoiceProps<Id extends string> {
  label: string;
  value: Id;
  options: readonly { id: Id; label: string }[];
  onChange: (id: Id) => void;
}

/** Label of the last choice. Some choices remount the page, and the focus must return to them. */
let justChosen: string | null = null;

function Choice<Id extends string>({ label, value, options, onChange }: ChoiceProps<Id>) {
  const chosen = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (justChosen !== label) return;
    justChosen = null;
    chosen.current?.focus({ preventScroll: true });
  });
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
            {...(option.id === value ? { ref: chosen } : {})}
            type="radio"
            name={label}
            className="sr-only"
            checked={option.id === value}
            onChange={() => {
              justChosen = label;
              onChange(option.id);
            }}
          />
          {option.label}
        </label>
      ))}
    </div>
  );
}
