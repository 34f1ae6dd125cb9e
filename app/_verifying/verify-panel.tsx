"use client";
import type { CheckpointView } from "#protocol/wire/views.ts";
import { formatCount } from "#protocol/base/units.ts";
import { Age } from "../_hub/live/age.tsx";
import { useLiveTransfers } from "../_hub/live/live.tsx";
import { TransferLine } from "../_hub/transfers/transfer-line.tsx";
import { Banner } from "../_ui/feedback/banner.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { damageLines } from "./damage-words.ts";
import { VerifiedNote } from "./verified-note.tsx";

/** Shows the results of reading the checkpoint back: damage, and the outcome of each verification. */
export function VerifyPanel({ view }: { view: CheckpointView }) {
  const live = useLiveTransfers();
  if (view.state !== "complete") return null;
  const checks = view.checks.map((row) => live?.get(row.id) ?? row);
  const { damage } = view;
  return (
    <Panel
      title="Verified"
      note={
        damage !== null ? "damage was found" : view.verifiedAt === null ? "Never verified" : <VerifiedNote row={view} />
      }
    >
      {damage !== null && (
        <div className="p-3">
          <Banner tone="lost" title="Damaged: bytes in the bucket are not those that were committed.">
            Found <Age at={damage.foundAt} />. Files that are not named here can still be restored.
          </Banner>
          <ul aria-label="Damaged" className="nums px-4 pt-3 font-mono text-12 break-all">
            {damageLines(damage).map((line) => (
              <li key={line}>{line}</li>
            ))}
            {damage.more > 0 && <li>{formatCount(damage.more)} more ranges</li>}
          </ul>
        </div>
      )}
      {checks.length === 0 ? (
        damage === null && (
          <p className="max-w-[72ch] px-4 py-3 text-soft">
            A node reads every byte back and compares it with the manifest. Nothing is written. Runs at low priority.
          </p>
        )
      ) : (
        <ul aria-label="Looks" className="divide-y divide-line">
          {checks.map((row) => (
            <TransferLine key={row.id} row={row} />
          ))}
        </ul>
      )}
    </Panel>
  );
}
