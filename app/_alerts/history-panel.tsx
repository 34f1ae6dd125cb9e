"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { hub } from "../_hub/queries/client.ts";
import { Listed } from "../_hub/queries/listed.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { AlertList } from "./alert-list.tsx";

const newest = (): string | null => null;

/** Shows ended alerts, newest first. */
export function HistoryPanel() {
  const query = useInfiniteQuery({
    queryKey: ["alerts", "history"],
    queryFn: ({ pageParam }) => hub.alerts.history.query({ cursor: pageParam, limit: 50 }),
    initialPageParam: newest(),
    getNextPageParam: (page) => page.nextCursor,
  });
  const rows = query.data?.pages.flatMap((page) => page.rows) ?? null;
  return (
    <Panel label="History">
      <Listed
        query={query}
        rows={rows}
        loading={{ label: "Loading the history", rows: 6 }}
        empty={<Empty title="No past alerts">Alerts that ended stay here for 90 days.</Empty>}
      >
        {(alerts) => <AlertList rows={alerts} />}
      </Listed>
    </Panel>
  );
}
