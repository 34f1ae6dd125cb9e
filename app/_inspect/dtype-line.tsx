import type { DtypeShare } from "#protocol/checkpoint/inspect.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { parameterWords } from "./inspect-words.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

/** Shows parameters and size per dtype: `BF16 1.24 B (2.3 GiB), F32 812 (3.2 KiB)`. */
export function DtypeLine({ dtypes }: { dtypes: readonly DtypeShare[] }) {
  if (dtypes.length === 0) return null;
  return (
    <p className="nums flex flex-wrap gap-x-4 text-soft">
      {dtypes.slice(0, 8).map(({ dtype, parameters, sizeBytes }) => (
        <span key={dtype}>
          <span className="font-mono text-12 text-ink">{visibleText(dtype)}</span> {parameterWords(parameters)} (
          {formatBytes(sizeBytes)})
        </span>
      ))}
      {dtypes.length > 8 && <span>and {dtypes.length - 8} more</span>}
    </p>
  );
}
