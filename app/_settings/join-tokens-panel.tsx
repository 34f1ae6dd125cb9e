"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import type { TokenView } from "#protocol/wire/views.ts";
import { hub } from "../_hub/queries/client.ts";
import { useHubNow } from "../_hub/live/live.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { tokensQuery } from "../_hub/queries/queries.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { useDialogs } from "../_shell/dialogs.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Cell, Row, Table, TwoLines, type Column } from "../_ui/tables/table.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { dayOf } from "../_ui/text/times.ts";

const COLUMNS: readonly Column[] = [
  { key: "token", head: "Token" },
  { key: "profile", head: "Saves into", from: "sm" },
  { key: "uses", head: "Used", align: "right", from: "sm" },
  { key: "state", head: "State", align: "right" },
];

/** Lists join tokens with the machines each can still enroll, and revokes them. */
export function JoinTokensPanel() {
  const whyNot = useWhyNot("operator");
  const tokens = useQuery({ ...tokensQuery(), enabled: whyNot === null });
  const dialogs = useDialogs();
  return (
    <Panel
      title="Join tokens"
      label="Join tokens"
      side={
        whyNot === null && (
          <Button size="small" onClick={dialogs.addNode}>
            New token
          </Button>
        )
      }
    >
      {whyNot !== null ? (
        <p className="px-4 py-6 text-soft">Join tokens: {whyNot}</p>
      ) : tokens.isError && tokens.data === undefined ? (
        <QueryFault query={tokens} />
      ) : tokens.data === undefined ? (
        <SkeletonRows rows={2} label="Loading tokens" />
      ) : tokens.data.length === 0 ? (
        <Empty title="No token yet">A join token is made with “Add node”. It lets a machine enroll itself.</Empty>
      ) : (
        <Table label="Join tokens" columns={COLUMNS}>
          {tokens.data.map((token) => (
            <TokenRow key={token.id} token={token} />
          ))}
        </Table>
      )}
    </Panel>
  );
}

function TokenRow({ token }: { token: TokenView }) {
  const now = useHubNow(10_000);
  const client = useQueryClient();
  const revoke = useAction(() => hub.tokens.revoke.mutate({ id: token.id }));
  const state =
    token.revokedAt !== null
      ? ({ tone: "quiet", text: "revoked" } as const)
      : token.uses >= token.maxUses
        ? ({ tone: "quiet", text: "used up" } as const)
        : now > token.expiresAt
          ? ({ tone: "quiet", text: "expired" } as const)
          : ({ tone: "safe", text: "valid" } as const);
  return (
    <Row>
      <Cell>
        <TwoLines
          first={
            <>
              <span className="font-mono text-12">{visibleText(token.hint)}…</span>
              {token.label !== "" && <span className="ml-2 text-soft">{visibleText(token.label)}</span>}
            </>
          }
          second={`made ${dayOf(token.createdAt)}${token.runs === null ? "" : `, for ${visibleText(token.runs.replaceAll(",", ", "))}`}`}
        />
      </Cell>
      <Cell from="sm">{visibleText(token.profileName)}</Cell>
      <Cell from="sm" align="right">
        {formatCount(token.uses)} of {formatCount(token.maxUses)}
      </Cell>
      <Cell align="right">
        <div className="flex items-center justify-end gap-3">
          <div>
            <Tag tone={state.tone}>{state.text}</Tag>
            {state.tone === "safe" && now > 0 && (
              <div className="text-12 text-faint">for {formatDuration(token.expiresAt - now)}</div>
            )}
            {revoke.fault !== null && <div className="text-12 text-lost">{visibleText(revoke.fault.code)}</div>}
          </div>
          {state.tone === "safe" && (
            <Button
              look="quiet"
              size="small"
              disabled={revoke.busy}
              aria-label={`Revoke token ${token.hint}`}
              onClick={() =>
                revoke.run(undefined, () => {
                  void client.invalidateQueries({ queryKey: ["tokens"] });
                  say("quiet", "The token was revoked. Nodes that used it stay.");
                })
              }
            >
              Revoke
            </Button>
          )}
        </div>
      </Cell>
    </Row>
  );
}
