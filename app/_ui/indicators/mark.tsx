import { classNames } from "../rendering/class-names.ts";

/** State of a thing. Each tone has its own shape as well as its hue, the same in tables, charts, timelines and sentences. */
export type Tone = "safe" | "moving" | "risk" | "lost" | "quiet";

const FILL: Record<Tone, string> = {
  safe: "fill-safe",
  moving: "fill-moving",
  risk: "fill-risk",
  lost: "stroke-lost",
  quiet: "stroke-faint",
};

/** Draws the shape alone on a 10 x 10 field, for use inside another drawing. */
export function MarkShape({ tone }: { tone: Tone }) {
  switch (tone) {
    case "safe":
      return <circle cx="5" cy="5" r="4" className={FILL.safe} />;
    case "moving":
      return <path d="M5 0l5 5-5 5-5-5z" className={FILL.moving} />;
    case "risk":
      return <path d="M5 .6L10 9.4H0z" className={FILL.risk} />;
    case "lost":
      return <path d="M1.5 1.5l7 7m0-7l-7 7" className={FILL.lost} strokeWidth="2" strokeLinecap="round" fill="none" />;
    case "quiet":
      return <circle cx="5" cy="5" r="3.4" className={FILL.quiet} strokeWidth="1.4" fill="none" />;
  }
}

interface MarkProps {
  tone: Tone;
  /** Accessible name when the mark stands alone. Without it the mark is decoration beside a word. */
  label?: string;
  className?: string;
}

export function Mark({ tone, label, className }: MarkProps) {
  return (
    <svg
      width="10"
      height="10"
      viewBox="0 0 10 10"
      className={classNames("shrink-0 overflow-visible", className)}
      {...(label === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": label })}
    >
      <MarkShape tone={tone} />
    </svg>
  );
}
