import { Mark } from "../_ui/indicators/mark.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

/** Lists the warnings about a file. */
export function Warnings({ warnings }: { warnings: readonly string[] }) {
  if (warnings.length === 0) return null;
  return (
    <ul aria-label="Warnings" className="flex flex-col gap-1 text-soft">
      {warnings.map((warning, row) => (
        <li key={`${row} ${warning}`} className="flex gap-2">
          <Mark tone="risk" className="mt-[5px]" />
          <span className="min-w-0 [overflow-wrap:anywhere]">{visibleText(warning)}</span>
        </li>
      ))}
    </ul>
  );
}
