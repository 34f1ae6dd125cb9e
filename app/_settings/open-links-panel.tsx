"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { formatDuration } from "#protocol/base/units.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { useHubNow } from "../_hub/live/live.tsx";
import { codesQuery } from "../_hub/queries/queries.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

/** Lists links that can still be used. Renders nothing without any. */
export function OpenLinksPanel() {
  const client = useQueryClient();
  const now = useHubNow(10_000);
  const codes = useQuery(codesQuery());
  const revoke = useAction((id: string) => hub.invitations.revoke.mutate({ id }));
  const open = (codes.data ?? []).filter(
    ({ usedAt, revokedAt, expiresAt }) => usedAt === null && revokedAt === null && expiresAt > now,
  );
  if (codes.isError && codes.data === undefined)
    return <FaultNote fault={faultOf(codes.error)} onRetry={() => void codes.refetch()} />;
  if (open.length === 0 || now === 0) return null;
  return (
    <Panel title="Open links" label="Open links" note="made, not used yet">
      {revoke.fault !== null && (
        <div className="p-3">
          <FaultNote fault={revoke.fault} />
        </div>
      )}
      <ul className="divide-y divide-line">
        {open.map(({ id, kind, email, role, expiresAt }) => (
          <li key={id} className="flex items-center gap-3 px-4 py-2">
            <div className="min-w-0 flex-1">
              <div className="truncate font-mid" title={visibleText(email)}>
                {visibleText(email)}
              </div>
              <div className="nums text-12 text-faint">
                {kind === "reset" ? "another password" : `invited as ${role}`}, good for{" "}
                {formatDuration(expiresAt - now)}
              </div>
            </div>
            <Button
              look="quiet"
              size="small"
              disabled={revoke.busy}
              aria-label={`Revoke the link of ${visibleText(email)}`}
              onClick={() =>
                revoke.run(id, () => {
                  void client.invalidateQueries({ queryKey: codesQuery().queryKey });
                  say("quiet", "The link opens nothing any more.");
                })
              }
            >
              Revoke
            </Button>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
