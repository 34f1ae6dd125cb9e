import type { ReactNode } from "react";
import { classNames } from "../rendering/class-names.ts";

interface PanelProps {
  title?: ReactNode;
  /** Secondary text beside the title. */
  note?: ReactNode;
  /** Right end of the title row: filters, legend, an action. */
  side?: ReactNode;
  label?: string;
  /** Anchor for links to this panel. */
  id?: string;
  className?: string;
  children: ReactNode;
}

/** Shows a bordered surface with an optional title row. */
export function Panel({ title, note, side, label, id, className, children }: PanelProps) {
  return (
    <section
      id={id}
      aria-label={label}
      className={classNames("min-w-0 scroll-mt-16 rounded-2 border border-line bg-panel", className)}
    >
      {title !== undefined && (
        <header className="flex min-h-[45px] flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-2">
          <h2 className="font-semibold">{title}</h2>
          {note !== undefined && <span className="text-soft">{note}</span>}
          {side !== undefined && <div className="ml-auto flex flex-wrap items-center gap-3 text-soft">{side}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

interface EmptyProps {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}

/** Tells that a list is empty. Used only after a listing has completed and holds nothing, or nothing that matches. */
export function Empty({ title, children, action }: EmptyProps) {
  return (
    <div className="flex flex-col items-start gap-2 px-4 py-8">
      <p className="font-mid">{title}</p>
      {children !== undefined && <div className="max-w-[60ch] text-soft">{children}</div>}
      {action !== undefined && <div className="mt-2 flex flex-wrap gap-2">{action}</div>}
    </div>
  );
}
