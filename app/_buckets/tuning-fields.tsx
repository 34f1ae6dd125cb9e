"use client";
import { STORJ_PRESETS } from "#protocol/wire/tuning.ts";
import { Button } from "../_ui/controls/button.tsx";
import { TextField } from "../_forms/text-field.tsx";
import type { ProfileForm } from "./profile-draft.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

interface TuningFieldsProps {
  form: ProfileForm;
  set: (part: Partial<ProfileForm>) => void;
}

const MIB = 1024 * 1024;

/** Fields for part size and connections instead of the automatic choice; for Storj with the table of its documentation. */
export function TuningFields({ form, set }: TuningFieldsProps) {
  return (
    <>
      <TextField
        label="Part size"
        hint="MiB. Empty: by the size of the file. The store's own limits go before it."
        path="tunePart"
        inputMode="numeric"
        value={form.tunePart}
        placeholder="by the size of the file"
        onChange={(value) => set({ tunePart: value })}
      />
      <TextField
        label="Connections"
        hint="To begin with, 1 to 96; nodes continue to search for the best number."
        path="tuneConnections"
        inputMode="numeric"
        value={form.tuneConnections}
        placeholder="as usual"
        onChange={(value) => set({ tuneConnections: value })}
      />
      {form.provider === "storj" && (
        <fieldset aria-label="Presets of Storj" className="flex flex-wrap gap-2 py-1.5 sm:pl-[144px]">
          {STORJ_PRESETS.map(({ label, partBytes, connections, memoryBytes }) => (
            <Button
              key={label}
              size="small"
              title={`${connections ?? 0} parts of ${formatBytes(partBytes ?? 0)} at a time; a tool that holds whole parts takes ${formatBytes(memoryBytes)}`}
              onClick={() =>
                set({ tunePart: String((partBytes ?? 0) / MIB), tuneConnections: String(connections ?? "") })
              }
            >
              {label.replace("Gateway-MT, ", "")}: {connections} × 64 MiB, {formatBytes(memoryBytes)}
            </Button>
          ))}
          <p className="w-full text-12 text-faint">
            Gateway-MT. The memory is what rclone takes, which holds whole parts; a node takes a quarter of a MiB for
            each connection.
          </p>
        </fieldset>
      )}
    </>
  );
}
