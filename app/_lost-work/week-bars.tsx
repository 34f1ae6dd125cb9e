import type { LossWeek } from "#protocol/history/losses.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { lossSentence } from "./lost-work-words.ts";

const HEIGHT = 40;

const dayOf = (at: number): string =>
  new Date(at).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** Shows lost time by week; for screen readers as a list. */
export function WeekBars({ weeks }: { weeks: readonly LossWeek[] }) {
  const most = Math.max(1, ...weeks.map(({ lostMs }) => lostMs));
  const width = 100 / Math.max(1, weeks.length);
  return (
    <div className="px-4 pt-3 pb-2">
      <svg aria-hidden width="100%" height={HEIGHT} className="block">
        {weeks.map(({ from, lostMs }, index) => {
          const height = lostMs === 0 ? 1 : Math.max(2, (lostMs / most) * (HEIGHT - 2));
          return (
            <rect
              key={from}
              x={`${index * width + width * 0.1}%`}
              width={`${width * 0.8}%`}
              y={HEIGHT - height}
              height={height}
              className={lostMs === 0 ? "fill-line" : index === weeks.length - 1 ? "fill-lost" : "fill-edge"}
              fillOpacity={index === weeks.length - 1 ? 0.6 : 1}
            >
              <title>{`week of ${dayOf(from)}: ${formatDuration(lostMs)}`}</title>
            </rect>
          );
        })}
      </svg>
      <div aria-hidden className="nums flex justify-between text-11 text-faint">
        <span>{dayOf(weeks[0]?.from ?? 0)}</span>
        <span>this week</span>
      </div>
      <ul aria-label="Lost by week" className="sr-only">
        {weeks.map((week) => (
          <li key={week.from}>
            week of {dayOf(week.from)}: {lossSentence(week)}
          </li>
        ))}
      </ul>
    </div>
  );
}
