import { formatCount } from "#protocol/base/units.ts";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { visibleText } from "../_ui/text/visible-text.ts";

type Damage = NonNullable<CheckpointRow["damage"]>;

/**
 * Returns one line per damaged range: `model.safetensors, bytes 0 to 8,388,607`. File names are escaped: strangers choose
 * them.
 */
export const damageLines = ({ ranges }: Pick<Damage, "ranges">): string[] =>
  ranges.map(({ path, from, to }) => `${visibleText(path)}, bytes ${formatCount(from)} to ${formatCount(to)}`);

/** Returns the files that cannot be restored; null when the report lists only some of the ranges. */
export const damagedFiles = ({ ranges, more }: Pick<Damage, "ranges" | "more">): ReadonlySet<string> | null =>
  more > 0 ? null : new Set(ranges.map(({ path }) => path));
