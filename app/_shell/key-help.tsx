"use client";
import { Key } from "../_ui/button.tsx";
import { Dialog } from "../_ui/dialog.tsx";
import { KEYS } from "./keys.ts";

export function KeyHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="Keys" width="narrow">
      <dl className="divide-y divide-line">
        {KEYS.map((entry) => (
          <div key={entry.does} className="flex items-center gap-3 py-2">
            <dt className="flex w-36 shrink-0 items-center gap-1">
              {entry.keys.map((key) =>
                key === "then" ? (
                  <span key={key} className="text-12 text-faint">
                    then
                  </span>
                ) : (
                  <Key key={key}>{key}</Key>
                ),
              )}
            </dt>
            <dd className="text-soft">{entry.does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
