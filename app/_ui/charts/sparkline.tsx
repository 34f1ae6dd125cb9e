import { linePath } from "./line-path.ts";

/** Draws the last minutes of one value without axes. It shows the shape only; the number is beside it. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const box = { width: 56, height: 20, pad: 2 };
  const top = Math.max(...values, 0);
  return (
    <svg role="img" aria-label={label} width={box.width} height={box.height} className="block">
      {values.length > 1 && top > 0 ? (
        <path
          d={linePath(values, box)}
          className="stroke-moving"
          fill="none"
          strokeWidth="1.5"
          strokeLinejoin="round"
          strokeLinecap="round"
        />
      ) : (
        <path d="M0 18H56" className="stroke-line" strokeWidth="1.5" />
      )}
    </svg>
  );
}
