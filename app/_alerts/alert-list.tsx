"use client";
import { Link } from "../_ui/navigation/link.tsx";
import type { AlertRow } from "#protocol/alerts/alert-views.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { Age } from "../_hub/live/age.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { SEVERITY_TONES } from "./rule-words.ts";

/** Shows alerts as lines: severity, text, start and rule; possible actions are at the right. */
interface AlertListProps {
  rows: readonly AlertRow[];
  /** Absent when the alerts can no longer be acknowledged. */
  onAcknowledge?: (id: string) => void;
  whyNot?: string | null;
  busy?: boolean;
}

export function AlertList({ rows, onAcknowledge, whyNot = null, busy = false }: AlertListProps) {
  return (
    <ul className="divide-y divide-line">
      {rows.map((row) => (
        <li key={row.id} className="flex flex-wrap items-start gap-x-3 gap-y-1 px-4 py-2.5">
          <span className="w-[84px] shrink-0">
            <Tag tone={row.resolvedAt === null ? SEVERITY_TONES[row.severity] : "quiet"}>{row.severity}</Tag>
          </span>
          <div className="min-w-0 flex-1 basis-60">
            <Link href={row.path} data-row-link className="[overflow-wrap:anywhere] hover:underline">
              {row.nodeName !== null && <b className="font-mid">{visibleText(row.nodeName)}</b>} {visibleText(row.text)}
            </Link>
            {row.advice !== null && (
              <p className="text-13 text-soft [overflow-wrap:anywhere]">{visibleText(row.advice)}</p>
            )}
            <div className="nums text-12 text-faint">
              {visibleText(row.ruleName)}, began <Age at={row.since} />
              {row.resolvedAt !== null && <>, over after {formatDuration(row.resolvedAt - row.firedAt)}</>}
              {row.acknowledgedBy !== null && <>, seen by {visibleText(row.acknowledgedBy)}</>}
              {row.mutedUntil !== null && row.resolvedAt === null && row.mutedUntil > row.firedAt && <>, rule muted</>}
            </div>
          </div>
          {onAcknowledge !== undefined && row.acknowledgedAt === null && (
            <Button
              size="small"
              disabled={whyNot !== null || busy}
              title={whyNot ?? undefined}
              onClick={() => onAcknowledge(row.id)}
            >
              Acknowledge
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
