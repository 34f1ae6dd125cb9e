import { formatCount } from "#protocol/base/units.ts";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { visibleText } from "../_ui/text/visible-text.ts";

type Damage = NonNullable<CheckpointRow["damage"]>;

/** One line for each damaged range: `model.safetensors, bytes 0 to 8,388,607`. Names are a stranger's word. */
export const damageLines = ({ ranges }: Pick<Damage, "ranges">): string[] =>
  ranges.map(({ path, from, to }) => `${visibleText(path)}, bytes ${formatCount(from)} to ${formatCount(to)}`);

/** The files that may not be restored from it; null when there are more than were told. */
export const damagedFiles = ({ ranges, more }: Pick<Damage, "ranges" | "more">): ReadonlySet<string> | null =>
  more > 0 ? null : new Set(ranges.map(({ path }) => path));
