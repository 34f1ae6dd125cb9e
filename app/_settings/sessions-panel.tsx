"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { SessionView } from "#protocol/fleet/people.ts";
import { formatCount } from "#protocol/base/units.ts";
import { Age } from "../_hub/live/age.tsx";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { sessionsQuery } from "../_hub/queries/queries.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Cell, Row, Table, TwoLines, type Column } from "../_ui/tables/table.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { ConfirmDialog } from "../_hub/actions/confirm-dialog.tsx";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { dayOf } from "../_ui/text/times.ts";

const COLUMNS: readonly Column[] = [
  { key: "browser", head: "Session" },
  { key: "opened", head: "Opened", from: "sm" },
  { key: "seen", head: "Last used", from: "sm" },
  { key: "ends", head: "", label: "End it", align: "right" },
];

/** Lists a person's sessions, with a mark at the one of this browser. */
export function SessionsPanel() {
  const client = useQueryClient();
  const sessions = useQuery(sessionsQuery());
  const [asked, setAsked] = useState(false);
  const end = useAction((id: string) => hub.sessions.end.mutate({ id }));
  const refresh = () => void client.invalidateQueries({ queryKey: sessionsQuery().queryKey });
  const others = (sessions.data ?? []).filter(({ isThis }) => !isThis).length;
  return (
    <Panel
      id="sessions"
      title="Your sessions"
      label="Your sessions"
      side={
        others > 0 && (
          <Button size="small" onClick={() => setAsked(true)}>
            End all others…
          </Button>
        )
      }
    >
      {end.fault !== null && (
        <div className="p-3">
          <FaultNote fault={end.fault} />
        </div>
      )}
      {sessions.isError && sessions.data === undefined ? (
        <QueryFault query={sessions} />
      ) : sessions.data === undefined ? (
        <SkeletonRows rows={1} label="Loading sessions" />
      ) : (
        <Table label="Your sessions" columns={COLUMNS}>
          {sessions.data.map((session) => (
            <SessionRow
              key={session.id}
              session={session}
              busy={end.busy}
              onEnd={() =>
                end.run(session.id, () => {
                  refresh();
                  say("quiet", "Session ended.");
                })
              }
            />
          ))}
        </Table>
      )}
      {asked && (
        <ConfirmDialog
          title={others === 1 ? "End the other session?" : `End ${formatCount(others)} other sessions?`}
          words={{ button: "End them", busy: "Ending", keep: "Keep them" }}
          run={() => hub.sessions.endOthers.mutate({ userId: null })}
          onDone={() => {
            refresh();
            say("quiet", "All other sessions are over.");
          }}
          onClose={() => setAsked(false)}
        >
          Pages that are open there ask for the password again. This session and your API tokens stay.
        </ConfirmDialog>
      )}
    </Panel>
  );
}

const nameOf = ({ browser, system }: SessionView): string =>
  browser === null ? (system ?? "Unknown program") : system === null ? browser : `${browser} on ${system}`;

function SessionRow({ session, busy, onEnd }: { session: SessionView; busy: boolean; onEnd: () => void }) {
  const name = nameOf(session);
  return (
    <Row>
      <Cell>
        <TwoLines
          first={name}
          second={
            <>
              <span className="font-mono">
                {visibleText(session.address === "" ? "address unknown" : session.address)}
              </span>
              <span className="sm:hidden">
                , used <Age at={session.seenAt} />
              </span>
            </>
          }
        />
      </Cell>
      <Cell from="sm">{dayOf(session.createdAt)}</Cell>
      <Cell from="sm">
        <Age at={session.seenAt} />
      </Cell>
      <Cell align="right">
        {session.isThis ? (
          <Tag tone="safe">this browser</Tag>
        ) : (
          <Button look="quiet" size="small" disabled={busy} aria-label={`End ${name}`} onClick={onEnd}>
            End
          </Button>
        )}
      </Cell>
    </Row>
  );
}
