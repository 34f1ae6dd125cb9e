"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ApiTokenView } from "#protocol/fleet/people.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { Age } from "../_hub/live/age.tsx";
import { hub } from "../_hub/queries/client.ts";
import { useHubNow } from "../_hub/live/live.tsx";
import { usePerson } from "../_hub/session/person.tsx";
import { apiTokensQuery } from "../_hub/queries/queries.ts";
import { Button } from "../_ui/controls/button.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Cell, Row, Table, TwoLines, type Column } from "../_ui/tables/table.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { ConfirmDialog } from "../_hub/actions/confirm-dialog.tsx";
import { QueryFault } from "../_hub/faults/query-fault.tsx";

const ApiTokenDialog = onDemand(() => import("./api-token-dialog.tsx").then((module) => module.ApiTokenDialog));

const COLUMNS: readonly Column[] = [
  { key: "token", head: "Token" },
  { key: "role", head: "Role", from: "sm" },
  { key: "used", head: "Last used", from: "sm" },
  { key: "state", head: "State", align: "right" },
];

/** Lists a person's API tokens; for an admin those of everybody. */
export function ApiTokensPanel() {
  const client = useQueryClient();
  const tokens = useQuery(apiTokensQuery());
  const [adding, setAdding] = useState(false);
  const [revoked, setRevoked] = useState<ApiTokenView | null>(null);
  return (
    <Panel
      title="API tokens"
      label="API tokens"
      side={
        <Button size="small" onClick={() => setAdding(true)}>
          New API token
        </Button>
      }
    >
      {tokens.isError && tokens.data === undefined ? (
        <QueryFault query={tokens} />
      ) : tokens.data === undefined ? (
        <SkeletonRows rows={2} label="Loading API tokens" />
      ) : tokens.data.length === 0 ? (
        <Empty title="No API token yet">A program of yours can do with one what its role may.</Empty>
      ) : (
        <Table label="API tokens" columns={COLUMNS}>
          {tokens.data.map((token) => (
            <ApiTokenRow key={token.id} token={token} onRevoke={() => setRevoked(token)} />
          ))}
        </Table>
      )}
      {adding && <ApiTokenDialog onClose={() => setAdding(false)} />}
      {revoked !== null && (
        <ConfirmDialog
          title={`Revoke ${visibleText(revoked.name)}?`}
          words={{ button: "Revoke", busy: "Revoking", keep: "Keep it" }}
          run={() => hub.apiTokens.revoke.mutate({ id: revoked.id })}
          onDone={() => {
            void client.invalidateQueries({ queryKey: ["account"] });
            say("quiet", `${visibleText(revoked.name)} was revoked.`);
          }}
          onClose={() => setRevoked(null)}
        >
          Programs that use it are refused from now on. It cannot be brought back; a new one can be made.
        </ConfirmDialog>
      )}
    </Panel>
  );
}

function ApiTokenRow({ token, onRevoke }: { token: ApiTokenView; onRevoke: () => void }) {
  const now = useHubNow(10_000);
  const isOwn = usePerson()?.id === token.userId;
  const isOver = token.revokedAt !== null || now > token.expiresAt;
  return (
    <Row>
      <Cell className="max-w-0 w-1/2">
        <TwoLines
          first={<span className="font-mid">{visibleText(token.name)}</span>}
          second={
            <>
              <span className="font-mono">{visibleText(token.hint)}…</span>
              {!isOwn && ` of ${visibleText(token.email)}`}
            </>
          }
        />
      </Cell>
      <Cell from="sm">{token.role}</Cell>
      <Cell from="sm">
        {token.lastUsedAt === null ? <span className="text-faint">never</span> : <Age at={token.lastUsedAt} />}
      </Cell>
      <Cell align="right">
        <div className="flex items-center justify-end gap-3">
          <div>
            <Tag tone={isOver ? "quiet" : "safe"}>
              {token.revokedAt !== null ? "revoked" : isOver ? "expired" : "valid"}
            </Tag>
            {!isOver && now > 0 && (
              <div className="text-12 text-faint">for {formatDuration(token.expiresAt - now)}</div>
            )}
          </div>
          {!isOver && (
            <Button look="quiet" size="small" aria-label={`Revoke ${visibleText(token.name)}`} onClick={onRevoke}>
              Revoke…
            </Button>
          )}
        </div>
      </Cell>
    </Row>
  );
}
