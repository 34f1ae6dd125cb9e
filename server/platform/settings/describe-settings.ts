import type { HubSettingView } from "#protocol/fleet/hub-settings.ts";
import { HUB_SETTINGS } from "./hub-settings.ts";

/**
 * Returns the environment that the hub was started with, for an admin. Secrets appear only as set or not set. This process
 * does not even know the master key.
 */
export function describeSettings(variables: Readonly<Record<string, string | undefined>>): HubSettingView[] {
  const isSet = (name: string): boolean => (variables[name]?.trim() ?? "") !== "";
  return HUB_SETTINGS.flatMap(({ group, rows }) =>
    rows.map(({ name, about, usual, mayBeFile, kept }): HubSettingView => {
      const row = { group, name, about, usual, value: null };
      if (kept === "signer") return { ...row, source: "signer" };
      // If both are set, the file wins, as when settings are read.
      if (mayBeFile === true && isSet(`${name}_FILE`)) return { ...row, source: "file" };
      if (!isSet(name)) return { ...row, source: "default" };
      return { ...row, source: "environment", value: kept === "secret" ? null : (variables[name]?.trim() ?? null) };
    }),
  );
}
