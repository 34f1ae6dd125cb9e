import type { UsageDay } from "#protocol/buckets/bucket-usage.ts";
import { dateOf, daySentence } from "./usage-words.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

const HEIGHT = 56;

/** Shows the bytes written per day, with the share that still exists; for screen readers as a list. */
export function UsageDays({ days }: { days: readonly UsageDay[] }) {
  const most = Math.max(1, ...days.map(({ cameBytes, keptBytes }) => Math.max(cameBytes, keptBytes)));
  const width = 100 / Math.max(1, days.length);
  const heightOf = (bytes: number): number => (bytes === 0 ? 0 : Math.max(2, (bytes / most) * (HEIGHT - 2)));
  return (
    <div>
      <svg aria-hidden width="100%" height={HEIGHT} className="block">
        {days.map((day, index) => {
          const came = heightOf(Math.max(day.cameBytes, day.keptBytes));
          const kept = heightOf(day.keptBytes);
          const place = { x: `${index * width + width * 0.1}%`, width: `${width * 0.8}%` };
          return (
            <g key={day.from}>
              <title>{daySentence(day)}</title>
              <rect {...place} y={HEIGHT - 1} height="1" className="fill-line" />
              <rect {...place} y={HEIGHT - came} height={came} className="fill-edge" />
              <rect {...place} y={HEIGHT - kept} height={kept} className="fill-safe" />
            </g>
          );
        })}
      </svg>
      <div aria-hidden className="nums flex justify-between pt-1 text-11 text-faint">
        <span>{dateOf(days[0]?.from ?? 0)}</span>
        <span>{formatBytes(most)} at most; filled: still there</span>
        <span>today</span>
      </div>
      <ul aria-label="Growth by day" className="sr-only">
        {days.map((day) => (
          <li key={day.from}>{daySentence(day)}</li>
        ))}
      </ul>
    </div>
  );
}
