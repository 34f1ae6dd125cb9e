import type { ReactNode } from "react";
import { classNames } from "../rendering/class-names.ts";
import { Mark, type Tone } from "../indicators/mark.tsx";

const EDGE: Record<Tone, string> = {
  safe: "border-safe/45",
  moving: "border-moving/45",
  risk: "border-risk/45",
  lost: "border-lost/45",
  quiet: "border-line",
};

interface BannerProps {
  tone: Tone;
  /** The problem in one sentence. */
  title: ReactNode;
  /** Reason and consequence. */
  children?: ReactNode;
  action?: ReactNode;
  /** `quiet` is not announced by screen readers: for text that changes every second. */
  speech?: "spoken" | "quiet";
  className?: string;
}

export function Banner({ tone, title, children, action, speech = "spoken", className }: BannerProps) {
  return (
    <div
      {...(speech === "quiet" ? {} : { role: tone === "risk" || tone === "lost" ? "alert" : "status" })}
      className={classNames(
        "flex flex-wrap items-center gap-3 rounded-2 border bg-panel px-4 py-3",
        EDGE[tone],
        className,
      )}
    >
      <div className="flex min-w-0 flex-1 basis-64 gap-3">
        <Mark tone={tone} className="mt-[5px]" />
        <div className="min-w-0">
          <span className="font-mid">{title}</span>{" "}
          {children !== undefined && <span className="text-soft">{children}</span>}
        </div>
      </div>
      {action}
    </div>
  );
}
