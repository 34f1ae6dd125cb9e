"use client";
import { useId } from "react";

interface ThresholdSliderProps {
  label: string;
  place: number;
  first: number;
  last: number;
  /** The threshold in words. */
  words: string;
  /** Number of measurements per position. */
  counts: readonly number[];
  /** Returns whether measurements at this position would be rejected. */
  isRefused: (place: number) => boolean;
  onChange: (place: number) => void;
}

const BOX = { width: 244, height: 40 };

/**
 * Shows a slider for a threshold below a histogram of the measurements. Bars that the threshold rejects change their
 * color.
 */
export function ThresholdSlider(props: ThresholdSliderProps) {
  const { label, place, first, last, words, counts, isRefused, onChange } = props;
  const id = useId();
  const top = Math.max(1, ...counts);
  const offset = last - first + 1 - counts.length;
  const step = BOX.width / (last - first + 1);
  return (
    <div className="min-w-0">
      <div className="flex items-baseline justify-between gap-3">
        <label htmlFor={id} className="text-soft">
          {label}
        </label>
        <output htmlFor={id} className="nums font-mid">
          {words}
        </output>
      </div>
      <svg
        aria-hidden
        viewBox={`0 0 ${BOX.width} ${BOX.height}`}
        preserveAspectRatio="none"
        className="mt-1 block h-10 w-full px-2"
      >
        {counts.map((count, index) => {
          const at = index + (first === 0 ? offset : 0);
          const height = count === 0 ? 0 : Math.max(2, (count / top) * BOX.height);
          return (
            <rect
              key={at}
              x={at * step}
              y={BOX.height - height}
              width={Math.max(1, step - 1)}
              height={height}
              className={isRefused(first + at) ? "fill-lost" : "fill-safe"}
            />
          );
        })}
      </svg>
      <input
        id={id}
        type="range"
        min={first}
        max={last}
        step={1}
        value={place}
        aria-valuetext={words}
        onChange={(event) => onChange(Number(event.target.value))}
        className="block h-6 w-full accent-accent"
      />
    </div>
  );
}
