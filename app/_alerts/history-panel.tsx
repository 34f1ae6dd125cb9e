"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { hub } from "../_hub/client.ts";
import { FaultNote } from "../_hub/fault-note.tsx";
import { faultOf } from "../_hub/fault-of.ts";
import { Button } from "../_ui/button.tsx";
import { Empty, Panel } from "../_ui/panel.tsx";
import { SkeletonRows } from "../_ui/skeleton.tsx";
import { AlertList } from "./alert-list.tsx";

const newest = (): string | null => null;

/** What fired and is over, newest first. */
export function HistoryPanel() {
  const query = useInfiniteQuery({
    queryKey: ["alerts", "history"],
    queryFn: ({ pageParam }) => hub.alerts.history.query({ cursor: pageParam, limit: 50 }),
    initialPageParam: newest(),
    getNextPageParam: (page) => page.nextCursor,
  });
  const rows = query.data?.pages.flatMap((page) => page.rows) ?? [];
  return (
    <Panel label="History">
      {query.data === undefined ? (
        query.isError ? (
          <div className="p-3">
            <FaultNote fault={faultOf(query.error)} onRetry={() => void query.refetch()} />
          </div>
        ) : (
          <SkeletonRows rows={6} label="Loading the history" />
        )
      ) : rows.length === 0 ? (
        <Empty title="Nothing is over yet">Alerts that fired and ended stay here for 90 days.</Empty>
      ) : (
        <AlertList rows={rows} />
      )}
      {query.hasNextPage && (
        <div className="border-t border-line px-3 py-2">
          <Button
            look="quiet"
            size="small"
            disabled={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {query.isFetchingNextPage ? "Loading" : "Earlier"}
          </Button>
        </div>
      )}
    </Panel>
  );
}
