"use client";
import type { ReactNode } from "react";

interface PageHeadProps {
  title: ReactNode;
  /** State beside the title. */
  tag?: ReactNode;
  /** Text below the title. Pass an empty text while it is unknown, to reserve its line. */
  about?: ReactNode;
  actions?: ReactNode;
}

/** Shows the headline of a page with a state, a text and actions. */
export function PageHead({ title, tag, about, actions }: PageHeadProps) {
  return (
    <div className="flex flex-wrap items-end gap-x-8 gap-y-3">
      <div className="min-w-0 flex-1 basis-[360px]">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <h1 className="max-w-[30em] min-w-0 text-20 font-semibold tracking-[-.02em] text-balance sm:text-28">
            {title}
          </h1>
          {tag}
        </div>
        {about !== undefined && <div className="mt-1 min-h-[1lh] max-w-[100ch] text-soft">{about}</div>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap gap-2">{actions}</div>}
    </div>
  );
}
