"use client";
import { Key } from "../_ui/controls/button.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";

/** Shortcuts of `useKeys`, for the help. */
const KEYS: readonly { keys: readonly string[]; does: string }[] = [
  { keys: ["Ctrl K"], does: "find a node, run or action" },
  { keys: ["/"], does: "go to the filter of the page" },
  { keys: ["j", "k"], does: "next and previous row; the arrows too, from a row on" },
  { keys: ["Enter"], does: "open the row" },
  { keys: ["x"], does: "choose the row, where rows can be chosen" },
  { keys: ["p"], does: "pin or unpin the checkpoint of the row" },
  {
    keys: ["g", "then", "o n r b t a d m e s"],
    does: "overview, nodes, runs, buckets, transfers, alerts, advice, benchmarks, events, settings",
  },
  { keys: ["?"], does: "this help" },
  { keys: ["Esc"], does: "close what is open" },
];

export function KeyHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="Shortcuts" width="narrow">
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
