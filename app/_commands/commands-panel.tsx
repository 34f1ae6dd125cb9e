"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { CommandRow } from "#protocol/wire/send-command.ts";
import { Age } from "../_hub/live/age.tsx";
import { useRate } from "../_hub/preferences/choices.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { Listed } from "../_hub/queries/listed.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { commandResult, commandState, commandTitle } from "./command-words.ts";

const PAGE = 6;
const newest = (): string | null => null;

/** Lists the commands sent to a node, newest first, with their results. */
export function CommandsPanel({ nodeId }: { nodeId: string }) {
  const query = useInfiniteQuery({
    queryKey: ["commands", nodeId],
    queryFn: ({ pageParam }) => hub.commands.list.query({ nodeId, cursor: pageParam, limit: PAGE }),
    initialPageParam: newest(),
    getNextPageParam: (page) => page.nextCursor,
  });
  const rows = query.data?.pages.flatMap((page) => page.rows) ?? null;
  return (
    <Panel title="Commands" label="Commands">
      <Listed
        query={query}
        rows={rows}
        loading={{ label: "Loading commands", rows: 2 }}
        empty={<p className="px-4 py-6 text-soft">No commands sent.</p>}
      >
        {(commands) => (
          <ul className="divide-y divide-line">
            {commands.map((row) => (
              <CommandLine key={row.id} row={row} />
            ))}
          </ul>
        )}
      </Listed>
    </Panel>
  );
}

function CommandLine({ row }: { row: CommandRow }) {
  const rate = useRate();
  const mayNot = useWhyNot("operator");
  const takeBack = useAction(() => hub.commands.cancel.mutate({ id: row.id }));
  const state = commandState(row);
  const result = commandResult(row, rate);
  const title = commandTitle(row, rate);
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
      <div className="min-w-0 flex-1 basis-56">
        <div className="truncate font-mid">{visibleText(title)}</div>
        <div className="text-12 text-faint">
          <Age at={row.createdAt} />
          {row.by !== null && ` by ${visibleText(row.by)}`}
          {result !== null && <span className="text-soft"> · {visibleText(result)}</span>}
        </div>
        {takeBack.fault !== null && <FaultNote fault={takeBack.fault} />}
      </div>
      {row.state === "sent" && (
        <Button
          size="small"
          disabled={takeBack.busy || mayNot !== null}
          title={mayNot ?? undefined}
          aria-label={`Take back: ${title}`}
          onClick={() => takeBack.run(undefined, () => say("quiet", `${title}: taken back.`))}
        >
          Take back
        </Button>
      )}
      <Tag tone={state.tone}>{state.text}</Tag>
    </li>
  );
}
