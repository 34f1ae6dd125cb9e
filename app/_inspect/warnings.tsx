import { Mark } from "../_ui/indicators/mark.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

/** What is odd about a file, one sentence a line. */
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
