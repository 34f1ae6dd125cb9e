import type { ReactNode } from "react";

/** Shows one setting: name and explanation at the left, control at the right. */
export function SettingLine({ name, about, children }: { name: string; about: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center gap-x-6 gap-y-2 border-b border-line px-4 py-3 last:border-b-0">
      <div className="w-full sm:w-64">
        <div>{name}</div>
        <div className="text-12 text-faint">{about}</div>
      </div>
      <div className="flex min-w-0 flex-1 flex-wrap items-center gap-x-3 gap-y-2">{children}</div>
    </div>
  );
}
