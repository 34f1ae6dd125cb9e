import type { HubSettingView } from "#protocol/fleet/hub-settings.ts";
import { HUB_SETTINGS } from "./hub-settings.ts";

/**
 * What an admin is shown of the environment the hub was started with. No secret is in it: of those only whether they are
 * set, and the master key is not even known to this process.
 */
export function describeSettings(variables: Readonly<Record<string, string | undefined>>): HubSettingView[] {
  const isSet = (name: string): boolean => (variables[name]?.trim() ?? "") !== "";
  return HUB_SETTINGS.flatMap(({ group, rows }) =>
    rows.map(({ name, about, usual, mayBeFile, kept }): HubSettingView => {
      const row = { group, name, about, usual, value: null };
      if (kept === "keeper") return { ...row, source: "keeper" };
      // As it is read: where both are there, the file wins.
      if (mayBeFile === true && isSet(`${name}_FILE`)) return { ...row, source: "file" };
      if (!isSet(name)) return { ...row, source: "default" };
      return { ...row, source: "environment", value: kept === "secret" ? null : (variables[name]?.trim() ?? null) };
    }),
  );
}
