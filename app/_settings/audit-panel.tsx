"use client";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import type { AuditRow } from "#protocol/fleet/people.ts";
import { formatCount } from "#protocol/base/units.ts";
import { useAddressWord, useAddressWords } from "../_hub/address/address.ts";
import { hub } from "../_hub/queries/client.ts";
import { Listed } from "../_hub/queries/listed.tsx";
import { useHubNow } from "../_hub/live/live.tsx";
import { SearchField } from "../_ui/controls/search-field.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { Cell, Row, Table, TwoLines, type Column } from "../_ui/tables/table.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { actionsIn, actorsIn } from "./audit-choices.ts";
import { momentOf } from "../_ui/text/times.ts";

const COLUMNS: readonly Column[] = [
  { key: "what", head: "What" },
  { key: "who", head: "Who" },
  { key: "from", head: "From", from: "lg" },
  { key: "when", head: "When", align: "right", from: "sm" },
];
const PAGE = 100;
const newest = (): number | null => null;

/** Lists the audit log, newest first, for admins. Its filters are kept in the address. */
export function AuditPanel() {
  const [actor, setActor] = useAddressWord("actor", "");
  const [action, setAction] = useAddressWord("action", "");
  const [subject, setSubject] = useAddressWord("about", "", "same");
  const replace = useAddressWords();
  const found = useInfiniteQuery({
    queryKey: ["audit", actor, action, subject],
    queryFn: ({ pageParam }) =>
      hub.audit.list.query({
        actorId: actor || null,
        action: action || null,
        subject: subject.trim() || null,
        cursor: pageParam,
        limit: PAGE,
      }),
    initialPageParam: newest(),
    getNextPageParam: (page) => page.nextCursor,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
  const rows = found.data?.pages.flatMap((page) => page.rows) ?? null;
  const isFiltered = actor !== "" || action !== "" || subject !== "";
  const clear = () => replace({ show: "audit" });
  return (
    <Panel label="Audit">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-4 py-2.5">
        <SearchField label="About" value={subject} onChange={setSubject} placeholder="A name, node or bucket" />
        <div className="w-[calc(50%-6px)] sm:w-56">
          <Select
            label="Who"
            value={actor}
            choices={[{ value: "", label: "Everybody" }, ...actorsIn(rows ?? [], actor)]}
            onChange={setActor}
          />
        </div>
        <div className="w-[calc(50%-6px)] sm:w-56">
          <Select
            label="Action"
            value={action}
            choices={[{ value: "", label: "All actions" }, ...actionsIn(rows ?? [], action)]}
            onChange={setAction}
          />
        </div>
        {isFiltered && (
          <Button look="quiet" size="small" onClick={clear}>
            Clear
          </Button>
        )}
      </div>
      <Listed
        query={found}
        rows={rows}
        loading={{ label: "Loading the audit", rows: 8 }}
        empty={
          <Empty title="No entry matches" action={isFiltered ? <Button onClick={clear}>Show all</Button> : undefined}>
            No entry matches all of these filters.
          </Empty>
        }
        note={found.hasNextPage ? `${formatCount(rows?.length ?? 0)} shown` : undefined}
      >
        {(lines) => (
          <Table label="Audit" columns={COLUMNS}>
            {lines.map((row) => (
              <AuditLine key={row.id} row={row} />
            ))}
          </Table>
        )}
      </Listed>
    </Panel>
  );
}

function AuditLine({ row }: { row: AuditRow }) {
  const now = useHubNow(10_000);
  const at = momentOf(row.at, now);
  const last = row.lastAt === null ? at : momentOf(row.lastAt, now);
  const isRenamed = row.actorNow !== null && row.actorNow !== row.actor;
  const kind =
    row.tokenId !== null
      ? "with an API token"
      : row.actorKind === "person" && row.actorNow === null
        ? "account gone"
        : row.actorKind === row.actor || row.actorKind === "person"
          ? ""
          : row.actorKind;
  return (
    <Row>
      <Cell className="w-[45%] max-w-0 max-sm:w-1/2">
        <TwoLines
          first={
            <>
              <span className="font-mid">{visibleText(row.action)}</span>
              {row.times > 1 && <span className="nums ml-2 text-soft">{formatCount(row.times)} times</span>}
            </>
          }
          second={
            <>
              <span title={visibleText(row.subject)}>{visibleText(row.subject)}</span>
              <span className="block sm:hidden">{at}</span>
            </>
          }
        />
      </Cell>
      <Cell className="max-w-0">
        <TwoLines
          first={<span title={visibleText(row.actor)}>{visibleText(row.actor)}</span>}
          second={isRenamed ? `now ${visibleText(row.actorNow ?? "")}` : kind}
        />
      </Cell>
      <Cell from="lg" className="w-40 font-mono text-12 text-soft">
        {row.address === null ? <span className="text-faint">–</span> : visibleText(row.address)}
      </Cell>
      <Cell from="sm" align="right" className="w-40 text-soft">
        <time dateTime={new Date(row.at).toISOString()}>{at}</time>
        {last !== at && <div className="text-12 text-faint">until {last}</div>}
      </Cell>
    </Row>
  );
}
