import type { ReactNode } from "react";

/** Shows read-only content as a line of the form: the label is at the left on wide screens, above on narrow ones. */
export function FormLine({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="grid gap-x-4 gap-y-1 py-1.5 sm:grid-cols-[128px_minmax(0,1fr)]">
      <span className="pt-[7px] text-soft">{label}</span>
      <div className="flex min-h-[34px] min-w-0 flex-wrap items-center gap-x-2 gap-y-1 rounded-md border border-line bg-bg px-2.5 py-0.5">
        {children}
      </div>
    </div>
  );
}
